mod ahead;
mod bitmaps;
mod builds;
mod contests;
mod locks;
mod pruned;
mod rows;
