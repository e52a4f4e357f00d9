import type { Context } from 'millrace/queue';

/** Stops where it is told to, and says how far it is. */
export async function resize(images: readonly string[], { signal, progress, log }: Context): Promise<void> {
  for (const [n, image] of images.entries()) {
    signal.throwIfAborted();
    await fetch(`${process.env.RESIZER_URL}/${image}`, { method: 'POST', signal });
    progress((n + 1) / images.length, image);
  }
  log.info('resized', { images: images.length });
}
