import { pathToFileURL } from 'node:url';

/** Places named at most: what called what, from the throw outwards. */
const PLACES = 4;
/** Of esbuild: `functions/jobs/processors.ts:3:9: ERROR: Could not resolve "x"`. */
const BUNDLING = /^\S.*: ERROR: /;
/** Of Node, which ends with the stack: `SyntaxError [ERR_X]: …`, `«Code» …`. */
const THROWN = /^(?:Uncaught )?(?:\w*(?:Error|Exception)\b[^:]*: |«\w+» )/;

/**
 * Why a CDK app failed, for somebody who has just changed a file of it: the error and the places in the project, without
 * the stack through Node and node_modules. What is not understood comes back as its last lines.
 */
export function reasonOf(output: string, projectDirectory: string): string {
  const lines = output.trimEnd().split('\n');
  const bundling = lines.filter((line) => BUNDLING.test(line));
  if (bundling.length > 0) return `${bundling.slice(0, PLACES).join('; ')}. Correct that and start again.`;
  const thrown = lines.find((line) => THROWN.test(line));
  const missing = missingPackage(output);
  if (missing !== undefined)
    return `it needs ${missing}, which is not installed here: npm install --save-dev ${missing}`;
  if (thrown === undefined) return `run npx cdk synth to see why:\n${lines.slice(-15).join('\n')}`;
  const places = placesIn(lines, projectDirectory);
  const where = places.length > 0 ? ` (${places.join(' < ')})` : '';
  return `${thrown.replace(/[.:]$/, '')}${where}. Correct that and start again; npx cdk synth shows all that it said.`;
}

/** What Millrace needs of the project to synthesize, and does not bring itself. */
function missingPackage(output: string): string | undefined {
  const found = /Cannot find (?:package|module) '(aws-cdk-lib|constructs|esbuild)'|Bundling needs (esbuild)/.exec(
    output,
  );
  return found?.[1] ?? found?.[2];
}

function placesIn(lines: string[], projectDirectory: string): string[] {
  const project = `${pathToFileURL(projectDirectory).href}/`;
  const found = lines.flatMap((line) => {
    const place = /file:\/\/\S+:\d+/.exec(line)?.[0].replace(/\)$/, '') ?? '';
    return place.startsWith(project) && !place.includes('/node_modules/') ? [place.slice(project.length)] : [];
  });
  // Node shows the line of the throw above the error, and again with its column as the first of the stack.
  const once = found.filter(
    (place, at) => !found.some((other, before) => before !== at && other.startsWith(`${place}:`)),
  );
  return [...new Set(once)].slice(0, PLACES);
}
