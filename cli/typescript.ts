import { plain } from '../sdk/plain.ts'

/* Pieces of TypeScript made of text that others wrote: none of it can end its string or comment, or show up as something else. */

const LINE_CHARS_MAX = 100
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/
/** Controls, what has no width, what changes the direction of text: a reader must see what the compiler does. */
const UNSEEN = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** A string literal. JSON's escapes are those of TypeScript. */
export function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    UNSEEN,
    (unseen) => `\\u${unseen.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

export function memberName(name: string): string {
  return IDENTIFIER.test(name) ? name : quote(name)
}

/** The type that just this JSON value has. */
export function literal(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(([name, of]) => `${memberName(name)}: ${literal(of)}`)
    return members.length === 0 ? 'object' : `{ ${members.join('; ')} }`
  }
  return Number.isFinite(value) || typeof value !== 'number' ? String(value) : 'number'
}

/** A comment of one line with its line break; `@ts-ignore` and the like in it mean nothing. */
export function comment(text: string): string {
  const said = plain(text.replaceAll(/\s+/g, ' ').trim())
    .replaceAll(UNSEEN, '�')
    .replaceAll('*/', '* /')
    .replaceAll('@', '@ ')
  return said === '' ? '' : `/** ${said} */\n`
}

export function indent(text: string): string {
  return text.replaceAll('\n', '\n  ')
}

export function union(types: readonly string[]): string {
  const all = [...new Set(types)].filter((type) => type !== 'never')
  if (all.length === 0) return 'never'
  if (all.includes('unknown')) return 'unknown'
  const line = all.join(' | ')
  if (line.length <= LINE_CHARS_MAX || all.length === 1) return line
  return indent(all.map((type) => `\n| ${indent(type)}`).join(''))
}

export function intersection(types: readonly string[]): string {
  const all = [...new Set(types)]
  return all.length === 1 ? all[0]! : all.map((type) => (type.includes('|') ? `(${type})` : type)).join(' & ')
}
