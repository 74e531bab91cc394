mod contests;
mod rows;
