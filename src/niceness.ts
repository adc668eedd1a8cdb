import { constants, getPriority, setPriority } from 'node:os'

const NICENESS_MAX = constants.priority.PRIORITY_LOW

/**
 * Raises the niceness of a thread to `target(current)`, at most 19. It never lowers the niceness, because only root
 * may do that.
 *
 * A refusal by the system is ignored, because no work depends on a priority. `thread`: 0 is the calling thread
 * (Linux; elsewhere priorities belong to processes).
 */
export function raiseNiceness(target: (current: number) => number, thread = 0): void {
  try {
    const current = getPriority(thread)
    const next = Math.min(NICENESS_MAX, target(current))
    if (next > current) setPriority(thread, next)
  } catch {
    // The system refused, or the thread has ended.
  }
}
