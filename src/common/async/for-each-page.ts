/** Goes through a list that is read page by page, each after the last entry of the one before, until one is empty. */
export async function forEachPage<T>(
  read: (after: T | undefined) => Promise<readonly T[]>,
  use: (page: readonly T[]) => Promise<void>,
): Promise<void> {
  let page = await read(undefined);
  while (page.length > 0) {
    await use(page);
    page = await read(page.at(-1));
  }
}
