/** SQL: the priorities with their marks, which are $3, as `p(priority, mark)`. Fixed text, of a FROM. */
export const MARKED = `unnest('{5,4,3,2,1,0,-1,-2,-3,-4,-5}'::smallint[], $3::timestamptz[]) p(priority, mark)`;
