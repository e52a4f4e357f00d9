import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';

/**
 * Calls back with the path of what changes in these folders: files that are written, replaced, added or removed. Folders, not
 * files, since editors write a new file and give it the old name. One that is not there is passed over.
 * @param onTrouble is told why a folder cannot be watched, as when the system has no more watches to give
 */
export function watchFolders(
  folders: Iterable<string>,
  onChange: (path: string) => void,
  onTrouble: (error: NodeJS.ErrnoException) => void,
): { close(): void } {
  const watchers: FSWatcher[] = [];
  for (const folder of folders) {
    try {
      const watcher = watch(folder, (_, name) => onChange(name === null ? folder : join(folder, name)));
      // A folder that is removed; somebody looks again then.
      watcher.on('error', () => watcher.close());
      watchers.push(watcher);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') onTrouble(error as NodeJS.ErrnoException);
    }
  }
  return {
    close: () => {
      for (const watcher of watchers) watcher.close();
    },
  };
}
