/** Makes a value at its first use and keeps it. One that could not be made is tried again at the next use. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
