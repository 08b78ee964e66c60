import { open } from 'node:fs/promises';

/** Makes the names of new files in a folder survive a loss of power: fsync of a file does not (fsync(2)). */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
