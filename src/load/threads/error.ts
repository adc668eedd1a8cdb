/** Thrown if a thread did not finish its work, so there is no result. */
export class ThreadError extends Error {
  readonly code: keyof typeof DETAILS

  constructor(code: keyof typeof DETAILS, cause?: Error) {
    super(DETAILS[code], cause && { cause })
    this.name = 'ThreadError'
    this.code = code
  }
}

const DETAILS = {
  full: 'too much work waits for a thread',
  overrun: 'the work took too long, and its thread was ended',
  crashed: 'the thread that did the work has ended',
  closed: 'the threads are closed',
} as const
