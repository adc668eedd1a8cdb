const SHOWN_CHARS_MAX = 64
const LABELS_SHOWN_MAX = 8

/** Formats an untrusted value for a message: short, and without raw bytes. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return 'neither a number nor a text'
  const text = String(value)
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
}

export function shownLabels(map: ReadonlyMap<unknown, unknown>): string {
  return [...map.keys()].slice(0, LABELS_SHOWN_MAX).map(shown).join(', ')
}
