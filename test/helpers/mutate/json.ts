import { mutateBytes } from './bytes.ts'
import { below, pick, type Random } from './random.ts'
import { changeText, NUMBERS, pickLength } from './text.ts'

/*
 * JSON as a tree that preserves details which parsed values lose: duplicate names, the spelling of literals, and white
 * space.
 */

export type Tree =
  | { readonly kind: 'object'; readonly members: Member[] }
  | { readonly kind: 'array'; readonly items: Tree[] }
  | { readonly kind: 'scalar'; text: string }
/** A member of an object. `name`: the literal of the name, with quotes. */
type Member = { name: string; value: Tree }

export function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(treeOf) }
  if (typeof value !== 'object' || value === null) return { kind: 'scalar', text: JSON.stringify(value) }
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return {
    kind: 'object',
    members: members.map(([name, member]) => ({ name: JSON.stringify(name), value: treeOf(member) })),
  }
}

export function textOf(tree: Tree): string {
  if (tree.kind === 'scalar') return tree.text
  if (tree.kind === 'array') return `[${tree.items.map(textOf).join(',')}]`
  return `{${tree.members.map(({ name, value }) => `${name}:${textOf(value)}`).join(',')}}`
}

/**
 * Returns the value at a path of names and indices. Returns undefined if there is no value at the path, or if
 * JSON.parse cannot read the value.
 */
export function valueAt(tree: Tree | undefined, ...path: readonly (string | number)[]): unknown {
  let at = tree
  for (const step of path) at = childOf(at, step)
  try {
    return at === undefined ? undefined : JSON.parse(textOf(at))
  } catch {
    return undefined
  }
}

function childOf(tree: Tree | undefined, step: string | number): Tree | undefined {
  if (tree?.kind === 'array') return tree.items[step as number]
  if (tree?.kind !== 'object') return undefined
  return tree.members.find(({ name }) => name === JSON.stringify(step))?.value
}

/** Sets a member of the object at the path. Does nothing if there is no object at the path. */
export function setAt(tree: Tree, path: readonly (string | number)[], value: unknown): void {
  let at: Tree | undefined = tree
  for (const step of path.slice(0, -1)) at = childOf(at, step)
  const name = JSON.stringify(path.at(-1))
  if (at?.kind !== 'object') return
  const member = at.members.find((one) => one.name === name)
  if (member) member.value = treeOf(value)
  else at.members.push({ name, value: treeOf(value) })
}

/** Maps a member's name to values that inputs have under this name, so that most changes insert plausible values. */
export type Pool = ReadonlyMap<string, readonly Tree[]>

export function poolOf(trees: readonly Tree[]): Pool {
  const pool = new Map<string, Tree[]>()
  for (const { name, tree } of trees.flatMap((tree) => placesOf(tree)).map(named)) {
    if (name === null) continue
    const known = pool.get(name) ?? []
    if (known.length < 40 && !known.some((one) => textOf(one) === textOf(tree))) known.push(tree)
    pool.set(name, known)
  }
  return pool
}

type Place = { readonly tree: Tree; readonly parent: Tree | null; readonly index: number }

function placesOf(tree: Tree, parent: Tree | null = null, index = 0, found: Place[] = []): Place[] {
  found.push({ tree, parent, index })
  if (tree.kind === 'array') for (const [i, item] of tree.items.entries()) placesOf(item, tree, i, found)
  if (tree.kind === 'object')
    for (const [i, { value }] of tree.members.entries()) placesOf(value, tree, i, found)
  return found
}

const named = ({ tree, parent, index }: Place) => ({
  tree,
  name: parent?.kind === 'object' ? parent.members[index]!.name : null,
})

/** Returns a copy of the tree. This is ten times faster than structuredClone. */
export function copyTree(tree: Tree): Tree {
  if (tree.kind === 'scalar') return { ...tree }
  if (tree.kind === 'array') return { kind: 'array', items: tree.items.map(copyTree) }
  return {
    kind: 'object',
    members: tree.members.map(({ name, value }) => ({ name, value: copyTree(value) })),
  }
}

const VALUES = [
  ...[
    'null',
    'null',
    'true',
    'true',
    'false',
    '0',
    '1',
    '-1',
    '1.0',
    '"1"',
    '""',
    '"x"',
    '[]',
    '{}',
    '[null]',
    '{"a":1}',
  ],
  ...[
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\ufeff"',
    '"\\u0085"',
    '"\\x41"',
    '"',
  ],
  ...[
    'nul',
    'True',
    'undefined',
    '"system"',
    `"${'a'.repeat(64)}"`,
    `"${'A'.repeat(64)}"`,
    '"2026-02-30T00:00:00.000Z"',
  ],
  ...[
    '"2026-11-20T24:00:00.000Z"',
    '"2026-11-20T12:00:60.000Z"',
    '"2026-11-20T12:00:00Z"',
    '"0000-01-01T00:00:00.000Z"',
  ],
  ...[
    '"9999-12-31T23:59:59.999Z"',
    '"+010000-01-01T00:00:00.000Z"',
    '"1969-12-31T23:59:59.999Z"',
    '"__proto__"',
  ],
] as const

/** Changes one node of the tree in place. Returns a description of the change. */
export function changeTree(root: Tree, random: Random, pool: Pool = new Map()): string {
  const places = placesOf(root)
  // Usually changes a scalar, because most differences between readers are in scalars.
  const scalars = places.filter(({ tree }) => tree.kind === 'scalar')
  const place = random() < 0.6 && scalars.length > 0 ? pick(random, scalars) : pick(random, places)
  const { parent, index } = place
  const { name } = named(place)
  if (parent === null) return changeWhole(root, random)
  const set = (tree: Tree) => {
    if (parent.kind === 'array') parent.items[index] = tree
    if (parent.kind === 'object') parent.members[index]!.value = tree
  }
  const [how, tree] = changed(place.tree, name, random, pool)
  if (tree !== null) {
    set(tree)
    return `${how} ${name ?? index}`
  }
  return `${restructured(parent, index, random, pool)} ${name ?? index}`
}

function changed(tree: Tree, name: string | null, random: Random, pool: Pool): [string, Tree | null] {
  const kind = random()
  const known = name === null ? undefined : pool.get(name)
  if (kind < 0.22 && known) return ['pool', copyTree(pick(random, known))]
  if (kind < 0.34) return ['value', { kind: 'scalar', text: pick(random, VALUES) }]
  if (kind < 0.46 || (kind < 0.6 && isNumber(tree)))
    return ['number', { kind: 'scalar', text: near(tree, random) }]
  if (kind < 0.78 && tree.kind === 'scalar')
    return ['text', { kind: 'scalar', text: changeLiteral(tree.text, random) }]
  if (kind < 0.82 && tree.kind === 'array') return ['length', repeated(tree, random)]
  return ['', null]
}

const isNumber = (tree: Tree) => tree.kind === 'scalar' && /^-?[0-9]/.test(tree.text)

function near(tree: Tree, random: Random): string {
  if (!isNumber(tree) || random() < 0.6) return pick(random, NUMBERS)
  const { text } = tree as { readonly text: string }
  return pick(random, [
    `${Number(text) + 1}`,
    `${Number(text) - 1}`,
    `${text}.0`,
    `${text}e0`,
    `-${text}`,
    `0${text}`,
    `"${text}"`,
    'true',
    'false',
  ])
}

function changeLiteral(literal: string, random: Random): string {
  if (!literal.startsWith('"')) return changeText(literal, random)
  if (random() < 0.15) return escaped(literal, random)
  const text = changeText(literal.slice(1, -1), random)
  // Usually uses a serializer, so that the literal stays valid JSON.
  return random() < 0.7 ? JSON.stringify(text) : `"${text}"`
}

/** Returns the text in another spelling, which is sometimes invalid. */
function escaped(literal: string, random: Random): string {
  const at = 1 + below(random, Math.max(1, literal.length - 2))
  const unit = literal.charCodeAt(at) || 0x61
  const hex = unit.toString(16).padStart(4, '0')
  const spelled = pick(random, [
    `\\u${hex}`,
    `\\u${hex.toUpperCase()}`,
    `\\U${hex}`,
    `\\u${hex.slice(1)}`,
    '\\/',
    '\\',
  ])
  return literal.slice(0, at) + spelled + literal.slice(at + 1)
}

function repeated(tree: Extract<Tree, { kind: 'array' }>, random: Random): Tree {
  const most = Math.min(pickLength(random), 2_100)
  const item = tree.items[0] ?? { kind: 'scalar', text: pick(random, VALUES) }
  return { kind: 'array', items: Array.from({ length: most }, () => item) }
}

function restructured(parent: Tree, index: number, random: Random, pool: Pool): string {
  if (parent.kind === 'array') {
    const { items } = parent
    const kind = random()
    if (kind < 0.3) items.splice(index, 1)
    else if (kind < 0.6) items.splice(below(random, items.length + 1), 0, copyTree(items[index]!))
    else items.push(...items.splice(index, 1))
    return 'restructures'
  }
  if (parent.kind !== 'object') return 'nothing'
  const { members } = parent
  const member = members[index]!
  const kind = random()
  if (kind < 0.25) members.splice(index, 1)
  else if (kind < 0.45) {
    const name = random() < 0.5 ? member.name : escaped(member.name, random)
    members.splice(below(random, members.length + 1), 0, { name, value: copyTree(member.value) })
    return 'doubles'
  } else if (kind < 0.7) {
    const name = pool.size > 0 && random() < 0.7 ? pick(random, [...pool.keys()]) : pick(random, NAMES)
    const value: Tree = copyTree(
      pick(random, pool.get(name) ?? [{ kind: 'scalar', text: pick(random, VALUES) }]),
    )
    members.splice(below(random, members.length + 1), 0, { name, value })
    return `adds ${name} beside`
  } else if (kind < 0.85) member.name = changeLiteral(member.name, random)
  else members.push(...members.splice(index, 1))
  return 'restructures'
}

const NAMES = [
  '"x"',
  '""',
  '"__proto__"',
  '"constructor"',
  '"envelope"',
  '"definition"',
  '"toString"',
  '"\\u0061"',
  '"a\\u0000"',
]

const SPACES = [
  ' ',
  '\t',
  '\n',
  '\r',
  '\u00a0',
  '\ufeff',
  '\u2028',
  '\u0085',
  '\u000c',
  '/**/',
  ',',
  '\u0000',
]

function changeWhole(root: Tree, random: Random): string {
  const space = pick(random, SPACES)
  const depth = pick(random, [3, 4, 5, 31, 32, 33, 34, 35, 36, 62, 63, 64, 65, 66, 128, 1_000])
  const nested: Tree = {
    kind: 'scalar',
    text: `${'['.repeat(depth)}${']'.repeat(random() < 0.9 ? depth : depth - 1)}`,
  }
  if (root.kind === 'object' && root.members.length > 0) {
    const member = pick(random, root.members)
    if (random() < 0.5) {
      member.value = nested
      return `nests ${depth} deep`
    }
    member.name = random() < 0.5 ? space + member.name : member.name + space
    return 'puts space'
  }
  if (root.kind === 'array') root.items.push(nested)
  if (root.kind === 'scalar')
    root.text = random() < 0.5 ? changeLiteral(root.text, random) : space + root.text
  return 'changes the whole'
}

/**
 * Mutates a text in one of three ways: one line as JSON, the whole text as text, or the whole text as bytes. `other`: a
 * text of the same kind, from which values or bytes may be copied.
 */
export function mutateText(text: string, random: Random, other: string): string {
  const kind = random()
  if (kind < 0.33) {
    const lines = text.split('\n')
    const at = below(random, lines.length)
    const tree = parsed(lines[at]!)
    if (tree !== null) {
      changeTree(tree, random, poolOf([parsed(other.split('\n')[0]!) ?? tree]))
      return lines.with(at, textOf(tree)).join('\n')
    }
  }
  if (kind < 0.5) return changeText(text, random)
  const bytes = mutateBytes(Buffer.from(text), random, Buffer.from(other))
  return Buffer.from(bytes).toString('utf8')
}

function parsed(text: string): Tree | null {
  try {
    return treeOf(JSON.parse(text))
  } catch {
    return null
  }
}
