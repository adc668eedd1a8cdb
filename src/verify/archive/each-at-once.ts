/**
 * Calls `work` for all items, `atOnce` at a time. Returns the results in the order of the items. After a failed call,
 * starts no further call, waits for the running calls, and throws the first error.
 */
export async function eachAtOnce<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const at = next++
      try {
        results[at] = await work(items[at]!)
      } catch (error) {
        next = items.length
        throw error
      }
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, worker))
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed) throw (failed as PromiseRejectedResult).reason
  return results
}
