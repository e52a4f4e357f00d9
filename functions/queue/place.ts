/** The first place of a stack in the application's own code: `/app/jobs/processors.ts:12:9`. Undefined if there is none. */
export function placeIn(stack: string | undefined): string | undefined {
  return stack
    ?.split('\n')
    .filter((line) => !/node_modules|node:/.test(line))
    .map((line) => /^\s+at (?:.*\()?(?:file:\/\/)?([^()]+:\d+:\d+)\)?$/.exec(line)?.[1])
    .find((place) => place !== undefined);
}
