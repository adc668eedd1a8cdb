/*
 * Models of servers that read JSON more leniently than RFC 8259 and JSON-RPC. Each deviation exists in some parser in
 * use.
 */

export type ReadCall = { readonly name: string; readonly args: unknown }

type Node =
  | { readonly members: readonly (readonly [string, Node])[] }
  | { readonly items: readonly Node[] }
  | { readonly scalar: unknown }

type Names = (name: string) => string
type Reader = {
  /** Splits a line into the texts of messages. */
  readonly cut: (line: string) => readonly string[]
  readonly grammar: 'json' | 'json5'
  /** True if text after a message is ignored. */
  readonly trailing?: boolean
  /** Normalizes a name. The server treats names with the same result as equal. */
  readonly names: Names
  readonly methods: Names
  readonly wins: 'first' | 'last'
  /** True if a message may be encoded as a JSON string. */
  readonly unwraps: boolean
  /** True if the server also reads members of `__proto__`, as after Object.assign in JavaScript. */
  readonly proto?: boolean
}

const same: Names = (name) => name
const trimmed: Names = (name) => name.trim()
const cString: Names = (name) => name.split('\0')[0]!
/** Folds a name in the same way as Go's encoding/json does: by Unicode's simple case folding. */
const simple: Names = (name) => [...name].map((char) => SIMPLE.get(char) ?? char.toLowerCase()).join('')
const SIMPLE = new Map([
  ['ſ', 's'],
  ['\u212a', 'k'],
])
/** Folds a name in the same way as Go's encoding/json/v2 does with the option MatchCaseInsensitiveNames. */
const withoutDashes: Names = (name) =>
  simple(name)
    .replaceAll(/[-_]/g, '')
    .replace(/^meta$/, '_meta')
/** Folds a name in the same way as Java's equalsIgnoreCase does. */
const java: Names = (name) => [...name].map((char) => char.toUpperCase()[0]!.toLowerCase()[0]!).join('')
const compatible: Names = (name) => name.normalize('NFKC').toLowerCase()

const whole = (line: string) => [line]
const everyBytes = (size: number) => (line: string) => {
  const bytes = Buffer.from(line)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size).toString(),
  )
}
const plainly: Reader = {
  ...{ cut: whole, grammar: 'json', names: same, methods: same, wins: 'last', unwraps: true },
}

export const READERS: Readonly<Record<string, Reader>> = {
  'last wins': plainly,
  'first wins': { ...plainly, wins: 'first' },
  "Go's encoding/json": { ...plainly, names: simple, trailing: true },
  'first of names that fold alike': { ...plainly, names: simple, methods: simple, wins: 'first' },
  "Go's encoding/json/v2": { ...plainly, names: withoutDashes, methods: withoutDashes },
  "Java's equalsIgnoreCase": { ...plainly, names: java, methods: java },
  'compatibility forms': { ...plainly, names: compatible, methods: compatible },
  'trimmed texts': { ...plainly, names: trimmed, methods: trimmed, wins: 'first' },
  'strings of C': { ...plainly, names: cString, methods: cString },
  JSON5: { ...plainly, grammar: 'json5', trailing: true, proto: true },
  'JSON5, first wins': { ...plainly, grammar: 'json5', trailing: true, wins: 'first' },
  'universal newlines': { ...plainly, cut: (line) => line.split(/[\r\n]/) },
  'every line end of Unicode': {
    ...plainly,
    cut: (line) => line.split(/[\p{Cc}\u2028\u2029]/u),
  },
  // Readers that parse what a buffer of fixed size contains. They do not parse a message inside a string. No known
  // server does both. To be safe against such a server, the proxy would have to refuse every call whose text mentions
  // another call, for example a call that writes this file.
  'buffers of 64 bytes': { ...plainly, cut: everyBytes(64), unwraps: false },
  'buffers of 128 bytes, trailing text': {
    ...plainly,
    ...{ cut: everyBytes(128), trailing: true, unwraps: false },
  },
}

export function callsRead(line: Buffer, reader: Reader): ReadCall[] {
  const text = line.toString('utf8').replace(/^\ufeff/, '')
  return reader.cut(text).flatMap((part) => {
    try {
      return callsIn(new Parser(part, reader).readText(), reader)
    } catch {
      return []
    }
  })
}

function callsIn(node: Node, reader: Reader): ReadCall[] {
  if ('items' in node) return node.items.flatMap((item) => callsIn(item, reader))
  if ('scalar' in node)
    return reader.unwraps && typeof node.scalar === 'string'
      ? callsIn(new Parser(node.scalar, reader).readText(), reader)
      : []
  const method = member(node, 'method', reader)
  if (method === undefined || !('scalar' in method) || typeof method.scalar !== 'string') return []
  if (reader.methods(method.scalar) !== reader.methods('tools/call')) return []
  const params = member(node, 'params', reader)
  // The params are a list, as JSON-RPC allows, or an object. If there are no params, `name` and `arguments` are read
  // from the message itself.
  if (params !== undefined && 'items' in params) return [called(params.items[0], params.items[1])]
  const from = params !== undefined && 'members' in params ? params : node
  return [called(member(from, 'name', reader), member(from, 'arguments', reader))]
}

function called(name: Node | undefined, args: Node | undefined): ReadCall {
  return { name: String(plainOf(name)), args: plainOf(args) }
}

function member(node: Node, name: string, reader: Reader): Node | undefined {
  if (!('members' in node)) return undefined
  const found = node.members.filter(([each]) => reader.names(each) === reader.names(name))
  const [, value] = (reader.wins === 'first' ? found[0] : found.at(-1)) ?? []
  if (value !== undefined || !reader.proto) return value
  const proto = node.members.findLast(([each]) => each === '__proto__')?.[1]
  return proto === undefined ? undefined : member(proto, name, reader)
}

function plainOf(node: Node | undefined): unknown {
  if (node === undefined) return undefined
  if ('scalar' in node) return node.scalar
  if ('items' in node) return node.items.map(plainOf)
  return Object.fromEntries(node.members.map(([name, value]) => [name, plainOf(value)]))
}

/** Parses JSON and preserves every member, duplicates included. */
class Parser {
  readonly #text: string
  readonly #reader: Reader
  #at = 0

  constructor(text: string, reader: Reader) {
    this.#text = text
    this.#reader = reader
  }

  readText(): Node {
    const node = this.#read()
    this.#skip()
    if (this.#at < this.#text.length && this.#reader.trailing !== true) throw new SyntaxError('trailing')
    return node
  }

  get #isLoose(): boolean {
    return this.#reader.grammar === 'json5'
  }

  #read(): Node {
    this.#skip()
    const char = this.#text[this.#at]
    if (char === '{') return { members: this.#list('}', () => this.#member()) }
    if (char === '[') return { items: this.#list(']', () => this.#read()) }
    if (char === '"' || (this.#isLoose && char === "'")) return { scalar: this.#string(char) }
    return { scalar: this.#bare() }
  }

  #member(): readonly [string, Node] {
    this.#skip()
    const char = this.#text[this.#at]
    const name =
      char === '"' || (this.#isLoose && char === "'")
        ? this.#string(char)
        : this.#isLoose
          ? this.#word()
          : null
    this.#skip()
    if (name === null || this.#text[this.#at++] !== ':') throw new SyntaxError('name')
    return [name, this.#read()]
  }

  #list<Element>(close: string, readElement: () => Element): Element[] {
    const found: Element[] = []
    this.#at++
    for (;;) {
      this.#skip()
      if (this.#text[this.#at] === close && (found.length === 0 || this.#isLoose)) break
      found.push(readElement())
      this.#skip()
      if (this.#text[this.#at] === close) break
      if (this.#text[this.#at++] !== ',') throw new SyntaxError('list')
    }
    this.#at++
    return found
  }

  #string(quote: string): string {
    const from = this.#at
    for (this.#at++; this.#text[this.#at] !== quote; this.#at++) {
      if (this.#at >= this.#text.length) throw new SyntaxError('string')
      if (this.#text[this.#at] === '\\') this.#at++
    }
    this.#at++
    const inner = this.#text.slice(from + 1, this.#at - 1)
    const escaped = quote === '"' ? inner : inner.replaceAll('"', '\\"')
    return JSON.parse(
      `"${this.#isLoose ? escaped.replaceAll(/\p{Cc}/gu, (char) => (char < ' ' ? '?' : char)) : escaped}"`,
    ) as string
  }

  #bare(): unknown {
    const word = this.#word()
    return this.#isLoose && ['NaN', 'Infinity'].includes(word) ? word : JSON.parse(word)
  }

  #word(): string {
    const [word] = /^[\w$+.-]*/.exec(this.#text.slice(this.#at)) ?? ['']
    this.#at += word.length
    return word
  }

  #skip(): void {
    const space = this.#isLoose ? /^(?:\s|\/\*.*?\*\/|\/\/[^\r\n]*)*/s : /^[ \t\r\n]*/
    this.#at += space.exec(this.#text.slice(this.#at))![0].length
  }
}
