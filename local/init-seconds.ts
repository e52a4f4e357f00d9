/** Seconds that Lambda gives a function to load before its timeout begins to count. */
export const INIT_SECONDS = 10;
