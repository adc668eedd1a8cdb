import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const PAGE = resolve(import.meta.dirname, '../../../docs/operate/observe.md')

export type Documented = {
  readonly name: string
  readonly type: string
  /** Maps each label to its values; null if the values are not known in advance. */
  readonly labels: ReadonlyMap<string, readonly string[] | null>
  readonly processes: string
}

/** Parses docs/operate/observe.md. reference.test.ts compares it with the answers of processes. */
export function readReferencePage(): Documented[] {
  return readFileSync(PAGE, 'utf8')
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const processes = /\(([a-z, ]+)\)/.exec(section.split('\n')[0]!)?.[1]
      // Sections on traces describe no metrics.
      if (processes === undefined) return []
      const rows = section.split('\n').filter((line) => line.startsWith('| `'))
      return rows.map((row) => {
        const [, name, type, labels] = row.split('|').map((cell) => cell.trim())
        return { name: unquote(name!), type: type!, labels: parseLabels(labels!), processes }
      })
    })
}

/** Parses a cell of labels, such as: `pool`: `read`, `write`; `state` */
function parseLabels(cell: string): Map<string, string[] | null> {
  if (cell === '') return new Map()
  const parts = cell.includes(':') ? cell.split('; ') : cell.split(', ')
  return new Map(
    parts.map((part) => {
      const [label, values] = part.split(': ')
      return [unquote(label!), values === undefined ? null : values.split(', ').map(unquote)]
    }),
  )
}

function unquote(text: string): string {
  assert.match(text, /^`[^`]+`$/)
  return text.slice(1, -1)
}
