mod ahead;
mod bitmaps;
mod builds;
mod checked;
mod contests;
mod locks;
mod pruned;
mod rows;
