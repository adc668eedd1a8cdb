import { useState } from 'preact/hooks'
import type { LedgerRecord } from '../../sdk/generated/api.ts'
import { useAct } from '../queries.ts'
import { has, type Session } from '../session.ts'
import { wordsOf } from '../words.ts'
import { Failure, Section } from './basics.tsx'

/**
 * A step that the reader's agent may take. It is shown if the record's state, the agent's role and the key's scopes
 * allow it.
 */
type Step = {
  readonly name: string
  readonly needsReason: boolean
  readonly stop: boolean
  take(session: Session, record: LedgerRecord, reason: string): Promise<unknown>
}

const reasonOf = (reason: string) => (reason === '' ? {} : { reason })
/** Restricts the step to the version that the reader has seen. */
const as = ({ version }: LedgerRecord) => ({ ifVersion: version })

const ACCEPT: Step = {
  name: 'Accept',
  needsReason: false,
  stop: false,
  take: ({ client }, record, reason) =>
    client.records.verdict(record.id, { verdict: 'accept', ...reasonOf(reason) }, as(record)),
}
const REJECT: Step = {
  name: 'Reject',
  needsReason: false,
  stop: true,
  take: ({ client }, record, reason) =>
    client.records.verdict(record.id, { verdict: 'reject', ...reasonOf(reason) }, as(record)),
}
const REVISE: Step = {
  name: 'Request a revision',
  needsReason: true,
  stop: false,
  take: ({ client }, record, reason) => client.records.requestRevision(record.id, { reason }, as(record)),
}
const CANCEL: Step = {
  name: 'Cancel',
  needsReason: true,
  stop: true,
  take: ({ client }, record, reason) => client.records.cancel(record.id, { reason }, as(record)),
}
const OVERTURN: Step = {
  name: 'Overturn the rejection',
  needsReason: true,
  stop: false,
  take: ({ client }, record, reason) => client.records.overturn(record.id, { reason }, as(record)),
}
const ACTIVATE: Step = {
  name: 'Accept the work',
  needsReason: false,
  stop: false,
  take: ({ client }, record) => client.records.activate(record.id, {}, as(record)),
}

/** Returns the steps that the server would probably accept. The server makes the final decision. */
export function stepsOf(session: Session, { nextEvents, gated }: LedgerRecord): Step[] {
  if (gated === null) return []
  const me = session.ledger.key.agent
  const isPrincipal = gated.principal === me
  const mayWrite = has(session, 'records:write')
  const can = (kind: LedgerRecord['nextEvents'][number]) => nextEvents.includes(kind)
  return [
    ...(mayWrite && isPrincipal && can('verdict-rendered') ? [ACCEPT, REJECT] : []),
    ...(mayWrite && isPrincipal && can('revision-requested') ? [REVISE] : []),
    ...(mayWrite && isPrincipal && can('record-cancelled') ? [CANCEL] : []),
    ...(mayWrite && !isPrincipal && can('record-activated') && [me, null].includes(gated.performer)
      ? [ACTIVATE]
      : []),
    ...(has(session, 'verdicts:overturn') && can('verdict-overturned') ? [OVERTURN] : []),
  ]
}

/** Shows the possible next steps, with buttons for those that this key may take. */
export function Next({
  session,
  record,
  done,
}: {
  session: Session
  record: LedgerRecord
  done: () => void
}) {
  const isForKey = stepsOf(session, record).length > 0
  return (
    <Section title="Next">
      <p class="quiet">
        Possible next steps: {record.nextEvents.map(wordsOf).join(', ')}.
        {!isForKey && ' This key can take none of them.'}
      </p>
      <Steps session={session} record={record} done={done} />
    </Section>
  )
}

/**
 * Buttons for steps. Each step needs a second button to confirm it, because a step is final. Shows nothing if the key
 * may take no step.
 */
export function Steps({
  session,
  record,
  done,
}: {
  session: Session
  record: LedgerRecord
  done: () => void
}) {
  const [chosen, setChosen] = useState<Step | null>(null)
  const [reason, setReason] = useState('')
  const { isBusy, error, act } = useAct()
  const steps = stepsOf(session, record)
  if (steps.length === 0) return null
  const take = (event: Event) => {
    event.preventDefault()
    if (chosen === null) return
    act(async () => {
      await chosen.take(session, record, reason.trim())
      setChosen(null)
      setReason('')
      done()
    })
  }
  return (
    <>
      <div class="row">
        {steps.map((step) => (
          <button
            key={step.name}
            type="button"
            class={`do ${step.stop ? 'stop' : ''}`}
            aria-expanded={chosen === step}
            onClick={() => setChosen(chosen === step ? null : step)}
          >
            {step.name}
          </button>
        ))}
      </div>
      {chosen !== null && (
        <form onSubmit={take}>
          {chosen !== ACTIVATE && (
            <label class="wide">
              Reason{chosen.needsReason ? '' : ' (optional)'}: it is signed, and can be erased
              <input
                value={reason}
                required={chosen.needsReason}
                onInput={({ currentTarget }) => setReason(currentTarget.value)}
              />
            </label>
          )}
          <button type="submit" class={`do ${chosen.stop ? 'stop' : 'main'}`} disabled={isBusy}>
            {chosen.name}: this can’t be undone
          </button>
        </form>
      )}
      {error !== null && <Failure error={error} />}
    </>
  )
}
