/**
 * Returns JSON texts of `bytes` length that are as expensive to parse as possible. Each text is `{"records":[…]}`.
 * `open` and `close` replace the text before and after the list.
 */
export function costlyTexts(bytes: number, open = '"records":', close = ''): Record<string, string> {
  const fill = (before: string, unit: (i: number) => string, after: string): string => {
    const units: string[] = []
    let chars = before.length + after.length
    for (let i = 0; ; i++) {
      const next = unit(i)
      chars += next.length + 1
      if (chars > bytes) break
      units.push(next)
    }
    return before + units.join(',') + after
  }
  const list = (unit: (i: number) => string, name = open) => fill(`{${name}[`, unit, `]${close}}`)
  const nested = () => '['.repeat(28) + ']'.repeat(28)
  /** Maximum number of members in one object. Each member takes 18 bytes. */
  const most = Math.min(20_000, Math.floor(bytes / 40))
  const few = (name: string, inEach: number) =>
    list(() => {
      const names = Array.from(
        { length: inEach },
        (_, i) => `"${name}${String(i).padStart(14 - name.length, '0')}"`,
      )
      return `{${names.map((one) => `${one}:0`).join(',')}}`
    })
  return {
    'as many members as are read': few('a', most),
    'as many members as are read, by names with an escape': few('\\u0061', most / 2),
    'nested lists': list(nested),
    'nested lists, and a name with an escape': list(nested, open.replace('r', '\\u0072')),
    'many objects': list((i) => `{"${i.toString(36)}":0}`),
    'many empty objects': list(() => '{}'),
    'many numbers': list(() => '0'),
    'many members of one object': fill(`{${open}[{`, (i) => `"${i.toString(36)}":0`, `}]${close}}`),
    'many names with an escape': fill(`{${open}[{`, (i) => `"\\u0061${i.toString(36)}":0`, `}]${close}}`),
    'many members at the top': fill(`{${open}[],`, (i) => `"${i.toString(36)}":0`, `${close}}`),
  }
}
