import { constants, getPriority, setPriority } from 'node:os'

const NICENESS_MAX = constants.priority.PRIORITY_LOW

/**
 * Raises the niceness of a thread to `target(current)`, at most to 19. Never lowers the niceness, because only root may
 * lower it. If the system refuses, this is ignored, because no work depends on a priority.
 *
 * `thread`: id of the thread; 0 is the calling thread. Only Linux has a niceness for each thread. On other systems the
 * niceness is that of the whole process.
 */
export function raiseNiceness(target: (current: number) => number, thread = 0): void {
  try {
    const current = getPriority(thread)
    const next = Math.min(NICENESS_MAX, target(current))
    if (next > current) setPriority(thread, next)
  } catch {
    // The system refused to change the niceness, or the thread has ended.
  }
}
