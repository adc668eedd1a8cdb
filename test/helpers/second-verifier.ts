import { readFileSync } from 'node:fs'

/*
 * Reads the tables of the second verifier (python/src/tallystick/verify) as text, because Python may not be
 * installed. python/tests/test_kinds.py compares the real tables.
 */

/** Columns of a kind that the tables of both verifiers have. */
export type SecondKind = {
  readonly subjects: readonly string[]
  readonly required: readonly string[]
  readonly optional: readonly string[]
  readonly records: 'makes' | 'moves' | null
  readonly scope: string | null
  readonly system: boolean
  readonly agentSigns: boolean
}

export type SecondTables = {
  readonly kinds: ReadonlyMap<string, SecondKind>
  readonly steps: readonly string[]
  readonly item: readonly string[]
  /** Optional members of a disclosed record that are compared with the signed members. */
  readonly shown: readonly string[]
}

export function readSecondVerifier(): SecondTables {
  const statement = sourceOf('statement')
  const actors = sourceOf('actors')
  const scopes = new Map(
    [
      ...blockOf(actors, 'SCOPES: dict[str, str] = {', '}').matchAll(/'([a-z-]+)': (?:'([a-z:]+)'|WRITE)/g),
    ].map(([, kind, scope]) => [kind!, scope ?? 'records:write']),
  )
  const alsoSystem = namesIn(blockOf(actors, 'ALSO_SYSTEM = frozenset((', '))'))
  const signed = namesIn(blockOf(actors, 'SIGNED_BY_AGENTS = frozenset(', '\n)'))
  const kinds = callsIn(blockOf(statement, 'KINDS: dict[str, Kind] = {', '\n}\n')).map(([kind, call]) => {
    const [subjects, required = '', optional = ''] = argumentsOf(call)
    const [isEvent, isFirst] = [/\bevent=True/.test(call), /\bfirst=True/.test(call)]
    const event = isEvent ? ['record', 'version', ...(isFirst ? [] : ['previous', 'from', 'to'])] : []
    const row: SecondKind = {
      subjects: subjects!.slice(1, -1).replace('received', 'entry').split(' '),
      required: sorted([...ALWAYS, ...membersOf(required), ...event]),
      optional: sorted([...OPTIONAL, ...membersOf(optional), ...(isEvent ? ['occurredAt'] : [])]),
      records: isEvent ? (isFirst ? 'makes' : 'moves') : null,
      scope: scopes.get(kind) ?? null,
      system: !scopes.has(kind) || alsoSystem.includes(kind),
      agentSigns: signed.includes(kind),
    }
    return [kind, row] as const
  })
  const transitions = blockOf(sourceOf('record'), 'TRANSITIONS: ', '\n}')
  const line = sourceOf('line')
  const optionalItem = blockOf(line, '_ITEM_OPTIONAL = {', '\n}')
  const shown = blockOf(sourceOf('shown'), 'def _signed(', '\n\n')
  const steps = [...transitions.matchAll(/\('([A-Z]+)', '([a-z-]+)', '([a-z]*)'\): '([A-Z]+)'/g)]
  return {
    kinds: new Map(kinds),
    steps: steps.map(([, from, kind, outcome, to]) => `${from} ${kind} ${outcome} ${to}`),
    item: sorted([
      ...namesIn(blockOf(line, '_ITEM = frozenset((', '))')),
      ...[...optionalItem.matchAll(/\n {4}'([A-Za-z]+)':/g)].map(([, name]) => name!),
    ]),
    shown: [...shown.matchAll(/\n {8}'([A-Za-z]+)': of\.get\('\1'\)/g)].map(([, name]) => name!),
  }
}

const ALWAYS = ['ledger', 'actor', 'recordedAt']
const OPTIONAL = ['key', 'onBehalfOf', 'traceparent']

/** Maps the name of a group of members to the members. Several kinds have all members of a group. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  _RECORD: ['parent', 'references'],
  _COMPLETION: ['completion'],
  _VERDICT: ['signal'],
}

function sourceOf(module: string): string {
  return readFileSync(new URL(`../../python/src/tallystick/verify/${module}.py`, import.meta.url), 'utf8')
}

function blockOf(source: string, begin: string, end: string): string {
  const start = source.indexOf(begin)
  if (start < 0) throw new Error(`${begin} is not in the second verifier`)
  return source.slice(start + begin.length, source.indexOf(end, start + begin.length))
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/'([a-z-]+)'/g)].map(([, name]) => name!)
}

function callsIn(text: string): [kind: string, call: string][] {
  return text
    .split(/\n {4}'(?=[a-z-]+': _kind\()/)
    .slice(1)
    .map((part) => {
      const [kind] = part.split("'", 1)
      return [kind!, part.slice(part.indexOf('(') + 1, part.lastIndexOf(')'))]
    })
}

/** Returns the positional arguments of a call, which are separated by commas outside of brackets. */
function argumentsOf(call: string): string[] {
  return topLevel(call).filter((part) => !/^\w+=/.test(part))
}

function membersOf(dict: string): readonly string[] {
  if (!dict.startsWith('{')) return NAMED[dict] ?? []
  return topLevel(dict.slice(1, -1)).flatMap((part) =>
    part.startsWith('**') ? NAMED[part.slice(2)]! : [part.slice(1, part.indexOf("'", 1))],
  )
}

function topLevel(text: string): string[] {
  const parts: string[] = ['']
  let depth = 0
  for (const character of text) {
    if ('([{'.includes(character)) depth++
    if (')]}'.includes(character)) depth--
    if (character === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}

/**
 * Compares a row with the second verifier's row. Returns the columns that differ. Each comes with the values that only
 * one verifier has.
 */
export function differencesOf(
  row: {
    readonly subjects: readonly string[]
    readonly fields: { readonly required: object; readonly optional: object }
    readonly records?: string | undefined
    readonly scope: string | null
    readonly system: boolean
    readonly agentSigns?: true | undefined
  },
  second: SecondKind,
): string[] {
  const own: SecondKind = {
    subjects: row.subjects,
    required: sorted(Object.keys(row.fields.required)),
    optional: sorted(Object.keys(row.fields.optional)),
    records: row.records === 'makes' || row.records === 'moves' ? row.records : null,
    scope: row.scope,
    system: row.system,
    agentSigns: row.agentSigns === true,
  }
  const columns = Object.keys(own) as (keyof SecondKind)[]
  return columns
    .filter((column) => JSON.stringify(own[column]) !== JSON.stringify(second[column]))
    .map((column) => `${column}: ${onlyOne(own[column], second[column])}`)
}

function onlyOne(own: SecondKind[keyof SecondKind], second: SecondKind[keyof SecondKind]): string {
  const [ours, theirs] = [own, second].map((value) => new Set(Array.isArray(value) ? value : [value]))
  const without = (from: Set<unknown>, other: Set<unknown>) => [...from].filter((name) => !other.has(name))
  return `only here ${JSON.stringify(without(ours!, theirs!))}, only in Python ${JSON.stringify(without(theirs!, ours!))}`
}
