import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Hold, LedgerEvent, RetentionRule } from '../../sdk/generated/api.ts'
import type { RulePreview } from '../../sdk/resources/retention.ts'
import { ERASURE_PAGES_MAX, HOLDS_MAX, SCAN_ROWS } from '../limits.ts'
import { AgentSelect } from '../parts/agent-select.tsx'
import {
  Agent,
  type Column,
  count,
  Failure,
  Id,
  Lacking,
  Page,
  Section,
  Shown,
  State,
  Table,
  Time,
} from '../parts/basics.tsx'
import { useAct, useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import { has, type Session } from '../session.ts'

export function RetentionPage({ session }: { session: Session }) {
  const { client } = session
  const rules = useQuery((signal) => client.retention.rules({ signal }), [])
  const holds = useQuery(
    (signal) => client.holds.list({ limit: SCAN_ROWS }, { signal }).toArray(HOLDS_MAX),
    [],
  )
  const mayChange = has(session, 'retention:manage')
  return (
    <Page title="Retention">
      <p>
        A rule sets how long documents are stored. Then they are erased, and the signed entries about them
        stay. A hold prevents erasure until it is lifted.
      </p>
      {!mayChange && <Lacking scope="retention:manage" />}
      <Section title="Rules">
        <Shown of={rules}>
          {(found) => (
            <Table
              caption="Rules"
              columns={ruleColumns(session)}
              rows={found}
              keyOf={({ seq }) => seq}
              empty="None: every document is stored until somebody erases it."
            />
          )}
        </Shown>
        {mayChange && <RuleForm session={session} done={rules.reload} />}
      </Section>
      <Section title="Holds">
        <Shown of={holds}>
          {(found) => (
            <Table
              caption="Holds"
              columns={holdColumns(session, mayChange, holds.reload)}
              rows={found}
              keyOf={({ seq }) => seq}
              empty="None. A hold protects documents from erasure, for a lawsuit or an inquiry."
            />
          )}
        </Shown>
        {mayChange && <HoldForm session={session} done={holds.reload} />}
      </Section>
      <Section title="Erased documents">
        <Erasures session={session} />
      </Section>
    </Page>
  )
}

type ErasureEvent = LedgerEvent & { readonly type: 'payload.erased' }

/** Shows the signed entries that erased documents, newest first. Reads the chain from its beginning, page by page. */
function Erasures({ session }: { session: Session }) {
  const [found, setFound] = useState<ErasuresFound | null>(null)
  const { isBusy, error, act } = useAct()
  const read = (from: ErasuresFound | null) => act(async () => setFound(await readErasures(session, from)))
  useEffect(() => {
    read(null)
  }, [])
  if (found === null) return error === null ? <p class="quiet">Loading…</p> : <Failure error={error} />
  const { erasures, more } = found
  return (
    <>
      <Table
        caption="Erased documents"
        columns={erasureColumns(session)}
        rows={erasures.toReversed()}
        keyOf={({ id }) => id}
        empty={more ? 'None so far.' : 'None: every document is still there.'}
      />
      {error !== null && <Failure error={error} />}
      {more && (
        <div class="row">
          <span>The rest of the ledger has not been searched yet.</span>
          <button type="button" class="do" disabled={isBusy} onClick={() => read(found)}>
            Continue
          </button>
        </div>
      )}
    </>
  )
}

type ErasuresFound = {
  readonly erasures: readonly ErasureEvent[]
  readonly cursor: string | undefined
  readonly more: boolean
}

async function readErasures({ client }: Session, from: ErasuresFound | null): Promise<ErasuresFound> {
  const erasures = [...(from?.erasures ?? [])]
  let cursor = from?.cursor
  let more = true
  for (let pages = 0; more && pages < ERASURE_PAGES_MAX; pages++) {
    const page = await client.events.page({ events: ['payload.erased'], limit: SCAN_ROWS, cursor })
    erasures.push(...page.data.filter((event): event is ErasureEvent => event.type === 'payload.erased'))
    cursor = page.nextCursor
    more = page.more
  }
  return { erasures, cursor, more }
}

function erasureColumns({ names }: Session): Column<ErasureEvent>[] {
  return [
    { name: 'Erased', cell: ({ timestamp }) => <Time at={timestamp} /> },
    {
      name: 'Document',
      cell: ({ data: { record, subjects } }) => (
        <>
          {documentOf(subjects[0]!.name)} of <Id id={record.id} to={linkTo('record', record.id)} short />
        </>
      ),
    },
    {
      name: 'By',
      cell: ({ data: { predicate } }) => <Agent id={String(predicate['actor'])} names={names} />,
    },
    {
      name: 'Why',
      cell: ({ data: { predicate } }) => (
        <>
          <code>{String(predicate['code'])}</code>
          {typeof predicate['rule'] === 'number' && <> by the rule of {entryLink(predicate['rule'])}</>}
        </>
      ),
    },
    { name: 'Signed in', cell: ({ data: { entry } }) => entryLink(entry.seq) },
  ]
}

/** Returns the kind of document that a subject names. */
function documentOf(subject: string): string {
  if (subject.endsWith('/reason')) return 'reason'
  if (subject.endsWith('/values')) return 'compared values'
  return subject.startsWith('cmp_') ? 'evidence' : 'payload'
}

/** Shows which records a rule or a hold covers. */
function Selection({
  session,
  type,
  agent,
  records,
}: {
  session: Session
  type: string | null
  agent: string | null
  records: readonly string[] | null
}) {
  const parts: ComponentChildren[] = [
    type !== null && (
      <>
        type <a href={linkTo('search', '', { type })}>{type}</a>
      </>
    ),
    agent !== null && (
      <>
        agent <Agent id={agent} names={session.names} />
      </>
    ),
    records !== null &&
      (records.length === 1 ? (
        <a href={linkTo('record', records[0])}>{records[0]}</a>
      ) : (
        <details>
          <summary>{count(records.length, 'record')}</summary>
          <ul>
            {records.map((id) => (
              <li key={id}>
                <a href={linkTo('record', id)}>{id}</a>
              </li>
            ))}
          </ul>
        </details>
      )),
  ].filter((each) => each !== false)
  if (parts.length === 0) return <>all records</>
  return (
    <>
      {parts.map((each, i) => (
        <span key={i}>{each} </span>
      ))}
    </>
  )
}

const entryLink = (seq: number) => <a href={linkTo('entry', `${seq}`)}>entry {seq}</a>

function ruleColumns(session: Session): Column<RetentionRule>[] {
  return [
    {
      name: 'Records',
      cell: ({ type, agent }) => <Selection session={session} type={type} agent={agent} records={null} />,
    },
    { name: 'Stored for', cell: ({ days }) => (days === null ? 'for ever' : count(days, 'day')) },
    { name: 'Set', cell: ({ setAt }) => <Time at={setAt} /> },
    { name: 'By', cell: ({ seq }) => entryLink(seq) },
    {
      name: 'State',
      cell: ({ replacedBy }) =>
        replacedBy === null ? <State state="active" /> : <>replaced by {entryLink(replacedBy)}</>,
    },
  ]
}

function holdColumns(session: Session, mayLift: boolean, done: () => void): Column<Hold>[] {
  return [
    { name: 'Case', cell: (hold) => hold.case },
    { name: 'Records', cell: (hold) => <Selection session={session} {...hold} /> },
    { name: 'Set', cell: ({ setAt }) => <Time at={setAt} /> },
    { name: 'By', cell: ({ seq }) => entryLink(seq) },
    {
      name: 'State',
      cell: (hold) =>
        hold.liftedBy !== null ? (
          <>lifted by {entryLink(hold.liftedBy)}</>
        ) : (
          <>
            <State state="stands" tone="wait" />
            {mayLift && <Lift session={session} hold={hold} done={done} />}
          </>
        ),
    },
  ]
}

function Lift({ session, hold, done }: { session: Session; hold: Hold; done: () => void }) {
  const { isBusy, error, act } = useAct()
  const lift = () =>
    act(async () => {
      await session.client.holds.lift(hold.seq)
      done()
    })
  return (
    <details>
      <summary>Lift {hold.case}</summary>
      <button type="button" class="do stop" disabled={isBusy} onClick={lift}>
        Lift it: its documents can be erased then
      </button>
      {error !== null && <Failure error={error} />}
    </details>
  )
}

/** Values of the form fields for type and agent. Empty values are ignored. */
type RecordFilter = { readonly type: string; readonly agent: string }

const EVERYTHING: RecordFilter = { type: '', agent: '' }

const narrowed = ({ type, agent }: RecordFilter) => ({
  ...(type.trim() !== '' && { type: type.trim() }),
  ...(agent !== '' && { agent }),
})

function NarrowFields({
  session,
  given,
  set,
}: {
  session: Session
  given: RecordFilter
  set: (given: RecordFilter) => void
}) {
  return (
    <>
      <label>
        Only of this type
        <input
          class="mono"
          value={given.type}
          placeholder="agent-action/1"
          onInput={({ currentTarget }) => set({ ...given, type: currentTarget.value })}
        />
      </label>
      <AgentSelect
        label="Only of this agent"
        session={session}
        value={given.agent}
        set={(agent) => set({ ...given, agent })}
      />
    </>
  )
}

/** Form for a rule. It shows a preview before the rule is set, because erased documents cannot be restored. */
function RuleForm({ session, done }: { session: Session; done: () => void }) {
  const { retention } = session.client
  const [of, setOf] = useState(EVERYTHING)
  const [days, setDays] = useState('')
  const [basis, setBasis] = useState('')
  const [preview, setPreview] = useState<RulePreview | 'for ever' | null>(null)
  const { isBusy, error, act } = useAct()
  const changing =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      setPreview(null)
      set(value)
    }
  const submit = (event: Event) => {
    event.preventDefault()
    act(async () => {
      if (preview === null) {
        const rule = { days: Number(days), ...narrowed(of) }
        setPreview(days === '' ? 'for ever' : await retention.preview(rule))
        return
      }
      await retention.setRule({ days: days === '' ? null : Number(days), basis, ...narrowed(of) })
      setPreview(null)
      done()
    })
  }
  return (
    <details>
      <summary>Set a rule</summary>
      <form onSubmit={submit}>
        <NarrowFields session={session} given={of} set={changing(setOf)} />
        <label>
          Days (none: for ever)
          <input
            type="number"
            min={1}
            value={days}
            onInput={({ currentTarget }) => changing(setDays)(currentTarget.value)}
          />
        </label>
        <label>
          Basis: the law or policy, as one word
          <input
            class="mono"
            required
            value={basis}
            placeholder="eu_ai_act_26_6"
            onInput={({ currentTarget }) => changing(setBasis)(currentTarget.value)}
          />
        </label>
        <button type="submit" class={preview === null ? 'do main' : 'do stop'} disabled={isBusy}>
          {preview === null ? 'Show what it would erase' : 'Set it: it is signed, and can only be lengthened'}
        </button>
      </form>
      {preview !== null && (
        <p role="status">{preview === 'for ever' ? 'It erases nothing.' : previewText(preview)}</p>
      )}
      {error !== null && <Failure error={error} />}
    </details>
  )
}

function previewText({ records, held, oldest, byType }: RulePreview): string {
  if (records + held === 0) return 'It would erase nothing now.'
  const types = Object.entries(byType).map(([type, number]) => `${number.toLocaleString('en')} of ${type}`)
  const since = oldest === null ? '' : `, the oldest of ${oldest.slice(0, 10)}`
  return `It would erase the documents of ${count(records, 'record')} now${since} (${types.join(', ')}). ${count(held, 'record')} more are under a hold.`
}

function HoldForm({ session, done }: { session: Session; done: () => void }) {
  const [caseName, setCase] = useState('')
  const [of, setOf] = useState(EVERYTHING)
  const [ids, setIds] = useState('')
  const { isBusy, error, act } = useAct()
  const submit = (event: Event) => {
    event.preventDefault()
    const records = ids.split(/[\s,]+/).filter((id) => id !== '')
    act(async () => {
      await session.client.holds.set({
        case: caseName,
        ...narrowed(of),
        ...(records.length > 0 && { records }),
      })
      setIds('')
      done()
    })
  }
  return (
    <details>
      <summary>Hold records</summary>
      <form onSubmit={submit}>
        <label>
          Case: signed, so do not name a person
          <input required value={caseName} onInput={({ currentTarget }) => setCase(currentTarget.value)} />
        </label>
        <NarrowFields session={session} given={of} set={setOf} />
        <label class="wide">
          Only these records (ids)
          <textarea
            class="mono"
            rows={2}
            value={ids}
            onInput={({ currentTarget }) => setIds(currentTarget.value)}
          />
        </label>
        <button type="submit" class="do main" disabled={isBusy}>
          Hold them
        </button>
      </form>
      {error !== null && <Failure error={error} />}
    </details>
  )
}
