mod ahead;
mod builds;
mod contests;
mod locks;
mod rows;
