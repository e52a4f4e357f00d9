/**
 * `npm run openapi`: writes docs/openapi.json, which `GET /openapi.json` serves. Its examples are what test/contract was
 * answered: where an answer has changed, run `npx vitest run --project pg18 test/contract -u` first.
 */
import { writeFile } from 'node:fs/promises';
import { OPENAPI_FILE, openApiText } from '../openapi/file.ts';

await writeFile(OPENAPI_FILE, openApiText());
