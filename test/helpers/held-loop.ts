/**
 * Maximum time in ms for which a test may block the event loop. The target is 50 ms. A shared core takes up to twice as
 * long. The attacks blocked the event loop for 1,000 ms and more before they were fixed.
 */
export const HELD_MS_MAX = 100

const LOOK_EVERY_MS = 1

type Held<T> = {
  /** Longest CPU time in ms that this thread used without a pause. */
  readonly heldMs: number
  /** Wall-clock time of that slice in ms. It includes the CPU time of other processes. */
  readonly elapsedMs: number
  readonly result: T
}

/** Runs `work`. Returns its result and the longest time for which it blocked this thread's event loop. */
export async function heldWhile<T>(work: () => Promise<T>): Promise<Held<T>> {
  let heldMs = 0
  let elapsedMs = 0
  let cpu = process.threadCpuUsage()
  let lookedAtMs = performance.now()
  const look = () => {
    const { user, system } = process.threadCpuUsage(cpu)
    heldMs = Math.max(heldMs, (user + system) / 1_000)
    elapsedMs = Math.max(elapsedMs, performance.now() - lookedAtMs)
    cpu = process.threadCpuUsage()
    lookedAtMs = performance.now()
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  try {
    const result = await work()
    // The pause ends the last slice, so that the last slice is measured too.
    await new Promise((resolve) => setTimeout(resolve, 2 * LOOK_EVERY_MS))
    return { heldMs: Math.round(heldMs), elapsedMs: Math.round(elapsedMs), result }
  } finally {
    clearInterval(timer)
  }
}
