import { JSON_DEPTH_MAX } from '../src/append/limits.ts'
import { SourceError } from '../src/verify/source.ts'
import {
  ANY,
  entries,
  isObject,
  type Json,
  type JsonType,
  kindOf,
  kindsOf,
  list,
  own,
  valuesOf,
} from './schema-members.ts'
import { comment, indent, intersection, literal, memberName, quote, union } from './typescript.ts'

const NOTHING_KNOWN: Readonly<Record<JsonType, string>> = {
  null: 'null',
  boolean: 'boolean',
  number: 'number',
  string: 'string',
  array: 'Array<unknown>',
  object: 'object',
}

/**
 * The TypeScript of a JSON Schema (docs/types.md), for documents, which are objects. Every document that the schema
 * takes has the type. The server alone checks rules that a type can't express (ranges, patterns, `not`, `if`). Tenants
 * wrote the schema, so all its text goes through cli/typescript.ts. Own code and not a library's: those at hand follow
 * `$ref` into files and the net, take TypeScript out of the schema, know no `prefixItems`, and bring 19 MB.
 */
export class SchemaType {
  readonly #root: unknown
  readonly #place: string
  readonly #anchors = new Map<string, unknown>()
  /** TypeScript of each subschema that a $ref means, by its name. */
  readonly references = new Map<string, string>()
  readonly #pending: string[] = []

  /** `place` names it among other schemas: `order/1 payload`. */
  constructor(root: unknown, place: string) {
    this.#root = root
    this.#place = place
    this.#findAnchors(root, 0)
  }

  /** The type of a document, and those that it refers to: always one that extends `object`. */
  document(): string {
    const type = this.#type(this.#root, ['object'])
    // One after another, not one inside another: a chain of references may be as long as the schema.
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop())
      this.references.set(this.#nameOf(next), this.#type(this.#find(next), ANY))
    return type
  }

  /** `allowed`: the kinds of values that the schemas around it still allow. */
  #type(schema: unknown, allowed: readonly JsonType[]): string {
    if (schema === false) return 'never'
    if (!isObject(schema)) return anything(allowed)
    const kinds = allowed.filter((kind) => kindsOf(own(schema, 'type')).includes(kind))
    const values = valuesOf(schema)
    const parts = [
      values === null
        ? union(kinds.map((kind) => this.#shape(schema, kind)))
        : union(values.filter((value) => kinds.includes(kindOf(value))).map(literal)),
      ...list(own(schema, 'allOf')).map((each) => this.#type(each, kinds)),
      ...['anyOf', 'oneOf']
        .map((keyword) => list(own(schema, keyword)))
        .filter((branches) => branches.length > 0)
        .map((branches) => union(branches.map((each) => this.#type(each, kinds)))),
      ...this.#reference(own(schema, '$ref'), kinds),
    ]
    // `unknown`, `object` and the like say nothing beside something else.
    const nothing = union(kinds.map((kind) => NOTHING_KNOWN[kind]))
    const telling = parts.filter((part) => part !== nothing && part !== 'unknown')
    return telling.length === 0 ? anything(kinds) : intersection(telling)
  }

  /** Type of values of this kind. */
  #shape(schema: Json, kind: JsonType): string {
    if (kind === 'object') return this.#object(schema)
    return kind === 'array' ? this.#array(schema) : kind
  }

  #object(schema: Json): string {
    const required = new Set(list(own(schema, 'required')).filter((name) => typeof name === 'string'))
    const properties = new Map(entries(own(schema, 'properties')))
    for (const name of required) if (!properties.has(name)) properties.set(name, true)
    const members = [...properties].map(([name, value]) => {
      const type = this.#type(value, ANY)
      return `${describe(value)}${memberName(name)}${required.has(name) ? '' : '?'}: ${type}`
    })
    const others = this.#otherMembers(schema)
    if (others === null && members.length === 0) return 'object'
    // TypeScript has no "all others": an index signature is for the named members too.
    if (others !== null && !(others === 'never' && members.length > 0))
      members.push(`[name: string]: ${members.length > 0 ? 'unknown' : others}`)
    return `{\n  ${members.map(indent).join('\n  ')}\n}`
  }

  /**
   * The type of the members that have no name in the schema. null where it says nothing of them: such are taken, but a
   * literal that has some is more likely mistyped.
   */
  #otherMembers(schema: Json): string | null {
    const patterns = entries(own(schema, 'patternProperties'))
    const additional = own(schema, 'additionalProperties')
    if (additional === undefined && patterns.length === 0) return null
    const schemas = [...patterns.map(([, value]) => value), additional ?? true]
    return union(schemas.map((value) => this.#type(value, ANY)))
  }

  #array(schema: Json): string {
    const first = list(own(schema, 'prefixItems'))
    const items = own(schema, 'items')
    const rest = items === undefined ? 'unknown' : this.#type(items, ANY)
    if (first.length === 0) return rest === 'never' ? '[]' : `Array<${rest}>`
    const needed = own(schema, 'minItems')
    const places = first.map((each, i) => {
      const type = this.#type(each, ANY)
      return i < Number(needed ?? 0) ? type : `(${type})?`
    })
    return `[${[...places, ...(rest === 'never' ? [] : [`...Array<${rest}>`])].join(', ')}]`
  }

  #reference(reference: unknown, kinds: readonly JsonType[]): string[] {
    if (typeof reference !== 'string') return []
    const name = this.#nameOf(reference)
    if (!this.references.has(name)) {
      this.references.set(name, 'unknown')
      this.#pending.push(reference)
    }
    const onlyObjects = kinds.length === 1 && kinds[0] === 'object'
    return [`${onlyObjects ? 'object & ' : ''}References[${quote(name)}]`]
  }

  #nameOf(reference: string): string {
    return `${this.#place} ${reference}`
  }

  /** A reference that leads nowhere in this schema says nothing: no other place is ever looked at. */
  #find(reference: string): unknown {
    if (!reference.startsWith('#')) return true
    const fragment = decode(reference.slice(1))
    if (fragment !== '' && !fragment.startsWith('/')) return this.#anchors.get(fragment) ?? true
    let found: unknown = this.#root
    for (const segment of fragment.split('/').slice(1)) {
      const name = segment.replaceAll('~1', '/').replaceAll('~0', '~')
      found = Array.isArray(found) ? found[Number(name)] : isObject(found) ? own(found, name) : undefined
    }
    return found ?? true
  }

  /**
   * Goes through all of it first: a schema that nests deeper than any body was not registered with a server of ours.
   */
  #findAnchors(value: unknown, depth: number): void {
    if (depth > JSON_DEPTH_MAX) throw tooDeep(this.#place)
    if (value === null || typeof value !== 'object') return
    const anchor = isObject(value) ? own(value, '$anchor') : undefined
    if (typeof anchor === 'string') this.#anchors.set(anchor, value)
    for (const inner of Object.values(value)) this.#findAnchors(inner, depth + 1)
  }
}

function tooDeep(place: string): SourceError {
  return new SourceError(
    'not_a_ledger',
    `the schema of ${place} nests deeper than any that can be registered`,
  )
}

function anything(kinds: readonly JsonType[]): string {
  return kinds.length === ANY.length ? 'unknown' : union(kinds.map((kind) => NOTHING_KNOWN[kind]))
}

function describe(schema: unknown): string {
  if (!isObject(schema)) return ''
  const said = own(schema, 'description') ?? own(schema, 'title')
  return typeof said === 'string' ? comment(said) : ''
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
