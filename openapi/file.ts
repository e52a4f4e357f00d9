import packageJson from '../package.json' with { type: 'json' };
import { openApiDocument } from './document.ts';

export const OPENAPI_FILE = new URL('../docs/openapi.json', import.meta.url);

/** What the file must hold. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(packageJson.version), null, 2)}\n`;
}
