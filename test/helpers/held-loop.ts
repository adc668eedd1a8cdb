/**
 * Bound of a turn of the event loop in tests. 50 ms are meant; a core that others use too takes up to twice as long for the same.
 * The attacks took 1,000 ms and more before.
 */
export const HELD_MS_MAX = 100

const LOOK_EVERY_MS = 1

type Held<T> = {
  /** Longest time that this thread's processor worked without a pause. */
  readonly heldMs: number
  /** The same by the clock, which counts what other processes of the machine took as well. */
  readonly elapsedMs: number
  readonly result: T
}

/** How long `work` held the event loop of this thread at a stretch, and what it came to. */
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
    // A turn that is just over counts too.
    await new Promise((resolve) => setTimeout(resolve, 2 * LOOK_EVERY_MS))
    return { heldMs: Math.round(heldMs), elapsedMs: Math.round(elapsedMs), result }
  } finally {
    clearInterval(timer)
  }
}
