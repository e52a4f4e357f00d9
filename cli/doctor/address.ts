import { isLoopback } from '../../functions/lambda/tls.ts';

/** Whether a URL leads to this machine alone. */
export function isHere({ hostname }: URL): boolean {
  return isLoopback(hostname);
}

/** Why an API cannot be asked by this URL, without showing what is secret in it; undefined: it can. */
export function flawOf(text: string): string | undefined {
  if (!URL.canParse(text)) return 'this is no URL';
  const url = new URL(text);
  if (url.username || url.password)
    return 'it holds credentials, which nobody asks for: the token goes into MILLRACE_TOKEN';
  if (url.search || url.hash) return 'it has a query or a fragment';
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isHere(url))) return undefined;
  if (url.protocol === 'http:') return 'it is not https, so the token would be sent for everybody to read';
  return `it begins with ${url.protocol}`;
}
