import { type FSWatcher, watch } from 'node:fs'
import { openInbox } from '../../sdk/node/inbox.ts'

/**
 * Reports changes of an inbox immediately, if the file system supports that. If it does not, `next` waits for its full
 * time.
 */
export class InboxWatch {
  readonly #watcher: FSWatcher | null
  #changed = false
  #wake: () => void = () => {}

  constructor(directory: string) {
    this.#watcher = tryWatch(directory, () => {
      this.#changed = true
      this.#wake()
    })
  }

  /** Resolves when the inbox has changed since the last call, or after `waitMs`. */
  async next(waitMs: number): Promise<void> {
    if (!this.#changed)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#changed = false
    this.#wake = () => {}
  }

  close(): void {
    this.#watcher?.close()
    this.#changed = true
    this.#wake()
  }
}

function tryWatch(directory: string, changed: () => void): FSWatcher | null {
  try {
    return watch(openInbox(directory), { persistent: false }, changed).on('error', () => {})
  } catch {
    return null
  }
}
