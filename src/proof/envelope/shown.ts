const SHOWN_CHARS_MAX = 64
const LABELS_SHOWN_MAX = 8

/** A value of a stranger's in a message: short, and no bytes of it. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return 'no number or text'
  const text = String(value)
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
}

/** The first labels of a stranger's map in a message. */
export function shownLabels(map: ReadonlyMap<unknown, unknown>): string {
  return [...map.keys()].slice(0, LABELS_SHOWN_MAX).map(shown).join(', ')
}
