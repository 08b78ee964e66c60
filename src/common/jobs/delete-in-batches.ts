/**
 * Repeats a bounded deletion until it finds less than its limit, so that no statement runs long; returns how many rows were deleted.
 * @param deleteBatch returns how many it deleted
 */
export async function deleteInBatches(limit: number, deleteBatch: (limit: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (;;) {
    const deleted = await deleteBatch(limit);
    total += deleted;
    if (deleted < limit) return total;
  }
}
