import { LIFECYCLE, STEP_PARTIES, type StepKind, type StepParty } from '../src/proof/statement/kinds.ts'

type Transition = (typeof LIFECYCLE)[number]

/**
 * Renders docs/reference/lifecycle.md below its title. The page comes from the table by which the server decides steps,
 * the database stores them and verifiers check them.
 */
export function lifecyclePage(): string {
  return `Look up every state and step of a record. [Gated records](../guides/gated-records.md) explains the steps with an
example.

A step that the table does not have is refused. The server (\`src/proof/statement/kinds.ts\`) and the database
(\`record_transitions\`) decide by the same rows. A verifier recomputes every state from them.

\`\`\`mermaid
stateDiagram-v2
${LIFECYCLE.map(({ from, to, ...event }) => `  ${from ?? '[*]'} --> ${to}: ${nameOf(event)}`).join('\n')}
${listTerminal()
  .map((state) => `  ${state} --> [*]`)
  .join('\n')}
\`\`\`

| From | Event | To | Who | Route | Command |
|---|---|---|---|---|---|
${LIFECYCLE.map((way) => `| ${stateOf(way.from)} | ${eventOf(way)} | \`${way.to}\` | ${whoseStep(way)} | ${callOf(way)} |`).join('\n')}

- **Route** is below \`/v1/records/{id}\`, for the first two rows \`/v1/records\`. **Command** is one of \`tallystick\`. The
  SDKs have methods with the names of the commands, except \`requestRevision\` and \`request_revision\` for \`revise\`.
- **Who** is the agent of the API key, or the agent that the key names in \`onBehalfOf\`. The worker signs as \`system\`,
  and only the worker's login may write its events.
- The performer may be an agent of another ledger that the record is shared with. It takes its steps at its own server.
  They become steps of the record when this ledger's chain has accepted them
  ([federation](../formats/federation.md#steps-of-a-remote-performer)).
- By the database's clock, \`record-activated\` and \`completion-submitted\` come before the record's deadline, and
  \`record-expired\` after it.
- \`revision-requested\` comes at most \`maxRevisions\` times, and never if the gate is \`auto\`.
- \`nextEvents\` of a record names the events that its state and terms allow, for the party whose step it is. It does
  not say whether the deadline has passed.`
}

function listTerminal(): string[] {
  const left = new Set(LIFECYCLE.map(({ from }) => from))
  return [...new Set(LIFECYCLE.map(({ to }) => to))].filter((state) => !left.has(state))
}

function nameOf({ kind, outcome }: Pick<Transition, 'kind' | 'outcome'>): string {
  return outcome === undefined ? kind : `${kind} (${outcome})`
}

function eventOf({ kind, outcome }: Transition): string {
  return outcome === undefined ? `\`${kind}\`` : `\`${kind}\`, ${outcome}`
}

function stateOf(state: Transition['from']): string {
  return state === null ? 'nothing' : `\`${state}\``
}

/** Route and command of each event that a request can write. The worker writes the others by itself. */
const CALLS: Readonly<Partial<Record<Transition['kind'], readonly [route: string, command: string]>>> = {
  'record-notarized': ['POST /v1/records', 'notarize'],
  'record-created': ['POST /v1/records', 'create'],
  'record-activated': ['POST …/activate', 'activate'],
  'completion-submitted': ['POST …/completions', 'complete'],
  'verdict-rendered': ['POST …/verdict', 'verdict'],
  'revision-requested': ['POST …/revision', 'revise'],
  'record-cancelled': ['POST …/cancel', 'cancel'],
  'verdict-overturned': ['POST …/overturn', 'overturn'],
}

function callOf({ kind }: Transition): string {
  return (CALLS[kind] ?? []).map((name) => `\`${name}\``).join(' | ') || 'none | none'
}

const WHOSE: Readonly<Record<StepParty, string>> = {
  performer: 'the performer',
  principal: 'the principal',
  worker: 'the worker',
  'other than the performer': 'anybody except the performer, with the scope `verdicts:overturn`',
}

function whoseStep({ from, kind, outcome }: Transition): string {
  if (kind === 'record-notarized') return 'any writer'
  if (kind === 'record-created') return 'the creator, who is the principal'
  const whose = WHOSE[STEP_PARTIES[kind as StepKind]]
  if (kind === 'record-activated') return `${whose}; if none is named, any agent except the principal`
  const isRules = (from === 'VERIFIED') === (outcome === 'accept')
  if (kind === 'verdict-rendered' && isRules) return `${whose}; the worker if the gate is \`auto\``
  return whose
}
