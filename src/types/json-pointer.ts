/** RFC 6901. */
export function formatPointer(segments: readonly string[]): string {
  return segments.map((segment) => `/${segment.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/

export function isPointer(text: string): boolean {
  return POINTER.test(text)
}
