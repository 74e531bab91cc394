mod contests;
mod locks;
mod rows;
