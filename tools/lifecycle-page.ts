import { LIFECYCLE, STEP_PARTIES, type StepKind, type StepParty } from '../src/proof/statement/kinds.ts'

type Transition = (typeof LIFECYCLE)[number]

/** docs/lifecycle.md below its title, from the table by which steps are decided, stored and verified. */
export function lifecyclePage(): string {
  return `Look up every state and step of a record: anything else is refused. The same rows decide in the server (\`src/proof/statement/kinds.ts\`) and in
the database (\`record_transitions\`), and a verifier rebuilds every state by them. [gated-records.md](../guides/gated-records.md) tells the story.

\`\`\`mermaid
stateDiagram-v2
${LIFECYCLE.map(({ from, to, ...event }) => `  ${from ?? '[*]'} --> ${to}: ${nameOf(event)}`).join('\n')}
${listTerminal()
  .map((state) => `  ${state} --> [*]`)
  .join('\n')}
\`\`\`

| From | Event | To | Who |
|---|---|---|---|
${LIFECYCLE.map((way) => `| ${stateOf(way.from)} | ${eventOf(way)} | \`${way.to}\` | ${whoseStep(way)} |`).join('\n')}

- The agent under **Who** is the one of the API key, or the one that it names in \`onBehalfOf\`. The worker signs as \`system\`, and only the worker's login
  may write its events.
- The performer may be an agent of another ledger that the record is shared with. It takes its steps at its own server, and they are steps
  of the record once this ledger's chain has taken them ([federation](../formats/federation.md#steps-of-a-remote-performer)).
- \`record-activated\` and \`completion-submitted\` come before the record's deadline, \`record-expired\` after it, by the database's clock.
- \`revision-requested\` comes at most \`maxRevisions\` times, and not where the gate is \`auto\`.
- A record's state and terms allow every event that its \`nextEvents\` names, for those whose step it is; the clock then says whether it is in time.`
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

const WHOSE: Readonly<Record<StepParty, string>> = {
  performer: 'the performer',
  principal: 'the principal',
  worker: 'the worker',
  'other than the performer': 'anybody but the performer, with the scope `verdicts:overturn`',
}

function whoseStep({ from, kind, outcome }: Transition): string {
  if (kind === 'record-notarized') return 'any writer'
  if (kind === 'record-created') return 'who creates it is the principal'
  const whose = WHOSE[STEP_PARTIES[kind as StepKind]]
  if (kind === 'record-activated')
    return `${whose}; where none is named, the agent that takes it on, but not the principal`
  const isRules = (from === 'VERIFIED') === (outcome === 'accept')
  if (kind === 'verdict-rendered' && isRules) return `${whose}; the worker where the gate is \`auto\``
  return whose
}
