/*
 * node tools/run.mjs test/system/kinds/cells.ts [--kind KIND] [--column COLUMN]
 *
 * Changes each cell of the table of kinds (src/proof/statement/kinds) once, in memory. Each change must be noticed:
 * by a vector whose verdict differs, or by the second verifier's table. Columns that no verifier reads must be in the
 * list of test/proof/statement/kinds.test.ts. Prints counts and each unnoticed change. Fails if a change was not
 * noticed.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { bundle } from '../../../sdk/verify/bundle.ts'
import { utf8Encode } from '../../../src/proof/bytes.ts'
import { ProofError } from '../../../src/proof/error.ts'
import type { KindRule } from '../../../src/proof/statement/kinds/rule.ts'
import { ENTRY_KINDS, type EntryKind, KINDS, rowOf } from '../../../src/proof/statement/kinds.ts'
import { MACHINES, type StateTransition } from '../../../src/proof/statement/machines.ts'
import { parseStatement } from '../../../src/proof/statement/statement.ts'
import type { ChainVector } from '../../helpers/chain-vectors.ts'
import { codeOfLines, type KindVectors, textOf } from '../../helpers/kind-vectors.ts'
import { differencesOf, readSecondVerifier } from '../../helpers/second-verifier.ts'
import { serverDifferencesOf } from '../../helpers/server-columns.ts'

/** Changes that no verdict can show, each with the reason. */
const WITHOUT_EFFECT: readonly {
  readonly reason: string
  readonly is: (kind: string, change: string, rule: KindRule) => boolean
}[] = [
  {
    reason: 'refuseActorWithoutKey refuses every key and onBehalfOf of the system, with the same code',
    is: (_, change, { fields, offered }) =>
      /^(key|onBehalfOf) is anything$/.test(change) && !offered && !fields.required['actor']!(AGENT),
  },
  {
    reason: 'refuseAdded demands that it is one of the two identities’ ledgers, whose form is checked',
    is: (kind, change) => kind === 'peer-added' && change === 'ledger is anything',
  },
  {
    reason: 'refuseReceived demands that it is the record in `received`, whose form is checked',
    is: (kind, change) => kind === 'offer-refused' && change === 'record is anything',
  },
]

const AGENT = 'agt_01jegv5gyme00r000000000001'

/** Test data with a verdict. `kinds` are the kinds of the entries in the data. */
type Corpus = { readonly kinds: ReadonlySet<string>; readonly verdict: () => string | Promise<string> }

type Cell = {
  readonly kind: EntryKind
  readonly column: keyof KindRule
  readonly change: string
  readonly row: KindRule
}

const { values } = parseArgs({ options: { kind: { type: 'string' }, column: { type: 'string' } } })
const startedAt = Date.now()
const corpora = [...readCorpora()]
const before = new Map<Corpus, string>()
for (const corpus of corpora) before.set(corpus, await corpus.verdict())
const second = readSecondVerifier()

const counts = { vectors: 0, 'second verifier': 0, 'a test': 0, 'without effect': 0, nobody: 0 }
let cells = 0
for (const cell of cellsOfAll()) {
  if (values.kind && values.kind !== cell.kind) continue
  if (values.column && values.column !== cell.column) continue
  cells++
  const noticed = await noticedBy(cell)
  for (const who of noticed) counts[who]++
  if (noticed.length > 0) continue
  const { kind, change } = cell
  if (cell.column === 'fields' && WITHOUT_EFFECT.some(({ is }) => is(kind, change, KINDS[kind]))) {
    counts['without effect']++
    continue
  }
  counts.nobody++
  console.log(`nobody  ${cell.kind}.${cell.column}: ${cell.change}`)
}
for (const [name, { ways }] of Object.entries(MACHINES))
  await loseWays(name, ways as unknown as StateTransition[])
console.log(
  `${cells} changes in ${Object.keys(KINDS).length} kinds; noticed by vectors: ${counts.vectors}, by the second verifier's table: ` +
    `${counts['second verifier']}, by kinds.test.ts alone: ${counts['a test']}, without effect: ${counts['without effect']}, ` +
    `by nobody: ${counts.nobody}; ${Math.round((Date.now() - startedAt) / 1000)} s`,
)
if (counts.nobody > 0) process.exitCode = 1

async function noticedBy({ kind, row }: Cell): Promise<(keyof typeof counts)[]> {
  const noticed: (keyof typeof counts)[] = []
  const own = ENTRY_KINDS[kind]
  const kept = { ...own }
  replace(own, rowOf(kind, row))
  try {
    if (differencesOf(own, second.kinds.get(kind)!).length > 0) noticed.push('second verifier')
    if (await changesVerdict(kind)) noticed.push('vectors')
  } finally {
    replace(own, kept)
  }
  return noticed.length === 0 && serverDifferencesOf(kind, row).length > 0 ? ['a test'] : noticed
}

async function changesVerdict(kind: string): Promise<boolean> {
  for (const corpus of corpora)
    if (corpus.kinds.has(kind) && (await corpus.verdict()) !== before.get(corpus)) return true
  return false
}

/**
 * Removes each transition of a state machine in turn. kinds.test.ts covers a record's first transitions, which only
 * the database reads.
 */
async function loseWays(name: string, ways: StateTransition[]): Promise<void> {
  if (values.kind || values.column) return
  for (const [i, way] of [...ways.entries()]) {
    ways.splice(i, 1)
    const isNoticed = await changesVerdict(way.kind)
    ways.splice(i, 0, way)
    cells++
    if (isNoticed) counts.vectors++
    const text = `${way.from} ${way.kind} ${way.outcome ?? ''} ${way.to}`
    if (second.steps.includes(text)) counts['second verifier']++
    else if (!isNoticed && name === 'record' && way.from === null) counts['a test']++
    else if (!isNoticed) {
      counts.nobody++
      console.log(`nobody  ${name}: without ${text}`)
    }
  }
}

function replace(row: object, by: object): void {
  for (const name of Object.keys(row)) delete (row as Record<string, unknown>)[name]
  Object.assign(row, by)
}

function* cellsOfAll(): Generator<Cell> {
  for (const [kind, rule] of Object.entries<KindRule>(KINDS))
    for (const [column, change, value] of changesOf(rule)) {
      const { [column]: _, ...others } = rule
      const row = (value === undefined ? others : { ...rule, [column]: value }) as KindRule
      // A change without effect is skipped. Another column implies the same value, such as the actor of an offered
      // step.
      if (isDeepStrictEqual(rowOf(kind, row), ENTRY_KINDS[kind as EntryKind])) continue
      yield { kind: kind as EntryKind, column, change, row }
    }
}

type Change = readonly [column: keyof KindRule, change: string, value: unknown]

function* changesOf(rule: KindRule): Generator<Change> {
  for (const [i, subject] of rule.subjects.entries())
    yield ['subjects', `${subject} is another`, rule.subjects.with(i, subject === 'bat' ? 'rec' : 'bat')]
  yield ['subjects', 'one more', [...rule.subjects, 'bat']]
  if (rule.subjects.length > 1) yield ['subjects', 'one less', rule.subjects.slice(0, -1)]
  yield* changesOfFields(rule.fields)
  yield ['scope', 'another', rule.scope === 'records:write' ? 'types:write' : 'records:write']
  if (rule.scope !== null) yield ['scope', 'none', null]
  yield ['system', 'the other way', !rule.system]
  for (const column of ['agentSigns', 'offered', 'workerOnly'] as const)
    yield [column, 'the other way', rule[column] ? undefined : true]
  for (const records of ['makes', 'makes many', 'moves', undefined])
    if (records !== rule.records) yield ['records', `${records}`, records]
  if (rule.party) yield ['party', 'another', rule.party === 'worker' ? 'principal' : 'worker']
  const documents = rule.documents ? undefined : documentOf(rule)
  if (documents !== null) yield ['documents', 'others', documents]
  if (rule.defines) {
    yield ['defines', 'none', undefined]
    const { defines } = rule
    if ('members' in defines)
      yield ['defines', 'one member less', { ...defines, members: defines.members.slice(1) }]
  }
  for (const [i] of (rule.gives ?? []).entries())
    yield ['gives', `not ${rule.gives![i]!.at}`, rule.gives!.toSpliced(i, 1)]
  if (rule.ends) yield ['ends', 'none', undefined]
  // A refused offer names a record. So `offer-refused` is tried only for kinds with a record.
  for (const receivedBy of ['entry-received', 'offer-refused', 'peer-key-rotated', undefined])
    if (
      receivedBy !== rule.receivedBy &&
      (receivedBy !== 'offer-refused' || Object.hasOwn(rule.fields.required, 'record'))
    )
      yield ['receivedBy', `${receivedBy}`, receivedBy]
  yield ['travelsWith', rule.travelsWith ? 'nothing' : 'all', rule.travelsWith ? undefined : 'all']
  yield ['events', 'others', rule.events ? undefined : ['record.recorded']]
  for (const column of ['refuse', 'follow'] as const) if (rule[column]) yield [column, 'nothing', () => {}]
  if (rule.step) yield ['step', 'nothing', () => {}]
}

/** Returns the name of the document, or null if no subject of this kind names a document. */
function documentOf({ subjects }: KindRule): readonly string[] | null {
  if (subjects.includes('rec')) return ['payload']
  return subjects.includes('cmp') ? ['evidence'] : null
}

function* changesOfFields({ required, optional }: KindRule['fields']): Generator<Change> {
  for (const [name, check] of Object.entries(required)) {
    const { [name]: _, ...others } = required
    yield ['fields', `without ${name}`, { required: others, optional }]
    yield ['fields', `${name} is optional`, { required: others, optional: { ...optional, [name]: check } }]
    yield ['fields', `${name} is anything`, { required: { ...required, [name]: () => true }, optional }]
  }
  for (const [name, check] of Object.entries(optional)) {
    const { [name]: _, ...others } = optional
    yield ['fields', `without ${name}`, { required, optional: others }]
    yield ['fields', `${name} is required`, { required: { ...required, [name]: check }, optional: others }]
    yield ['fields', `${name} is anything`, { required, optional: { ...optional, [name]: () => true } }]
  }
}

function* readCorpora(): Generator<Corpus> {
  const kinds = read<KindVectors>('kinds')
  for (const vector of kinds.statements) {
    const bytes = utf8Encode(textOf(kinds.samples, vector))
    const received = (vector.set?.['received'] as { kind: string } | undefined)?.kind ?? vector.kind
    yield { kinds: new Set([vector.kind, received]), verdict: () => codeOf(() => parseStatement(bytes)) }
  }
  for (const { line } of kinds.last) {
    const lines = [...kinds.begin, JSON.stringify(line)]
    yield { kinds: kindsIn(lines), verdict: () => codeOf(() => codeOfLines(lines)) }
  }
  for (const { head, line } of kinds.first) {
    const lines = [head!, JSON.stringify(line)]
    yield { kinds: kindsIn(lines), verdict: () => codeOf(() => codeOfLines(lines)) }
  }
  for (const { lines } of read<{ chains: ChainVector[] }>('chains').chains) {
    const entries = lines.filter((line) => !line.startsWith('{"checkpoint":'))
    yield { kinds: kindsIn(entries), verdict: () => codeOf(() => codeOfLines(entries)) }
  }
  for (const { lines, keys } of Object.values(
    read<{ ledgers: Record<string, { lines: object[]; keys: object[] }> }>('federation').ledgers,
  )) {
    const hints = keys.map((key) => ({ compromisedAt: null, ...key }))
    const texts = [JSON.stringify({ keys: hints }), ...lines.map((line) => JSON.stringify(line))]
    yield { kinds: kindsIn(texts), verdict: () => codeOf(() => codeOfLines(texts)) }
  }
  const files = [
    ...kinds.bundles.map(({ lines }) => `${lines.join('\n')}\n`),
    ...read<{ bundles: ChainVector[] }>('chains').bundles.map(({ lines }) => `${lines.join('\n')}\n`),
    ...Object.values(read<{ bundles: { text: string }[]; refused: { text: string }[] }>('bundles'))
      .flat()
      .flatMap((one) => (one as { text?: string }).text ?? []),
  ]
  for (const text of files) {
    const verdict = () =>
      bundle(text).then(
        ({ entries }) => `${entries}`,
        (error: { code?: string }) => error.code ?? `${error}`,
      )
    yield { kinds: kindsIn(text.split('\n')), verdict }
  }
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), 'utf8')) as T
}

function kindsIn(lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => /"kind":"([a-z-]+)"/.exec(line)?.[1] ?? []))
}

/** Returns the code of a refusal. A crash counts as a refusal too. */
function codeOf(work: () => unknown): string {
  try {
    return `${work() ?? 'taken'}`.slice(0, 80)
  } catch (error) {
    return error instanceof ProofError ? error.code : `crash: ${error}`
  }
}
