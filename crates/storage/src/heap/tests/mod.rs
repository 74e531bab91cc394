mod rows;
