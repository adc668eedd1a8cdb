const SHOWN_CHARS_MAX = 64

/** A value of a stranger's in a message: short, and no bytes of it. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return 'no number or text'
  const text = String(value)
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
}
