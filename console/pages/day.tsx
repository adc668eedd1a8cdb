import type { LedgerRecord } from '../../sdk/generated/api.ts'
import { useAsked } from '../asking.ts'
import { DAY_RECORDS_MAX, SCAN_ROWS } from '../limits.ts'
import { go } from '../navigate.ts'
import { Agent, type Column, count, Page, Section, Shown, State, Table } from '../parts/basics.tsx'
import { approverOf, Records, wordOf } from '../parts/records.tsx'
import { linkTo } from '../router.ts'
import { isAction, isOutcome } from '../runs.ts'
import type { Session } from '../session.ts'

const DAY_MS = 86_400_000

/** One day of the fleet: who did what, what was decided, what went wrong, and what has no outcome. */
export function DayPage({ session, query }: { session: Session; query: URLSearchParams }) {
  const day = /^\d{4}-\d\d-\d\d$/.exec(query.get('date') ?? '')?.[0] ?? dayOf(Date.now())
  const asked = useAsked((signal) => readDay(session, day, signal), [day])
  const beside = (days: number) => linkTo('day', '', { date: dayOf(Date.parse(day) + days * DAY_MS) })
  return (
    <Page title={`Day ${day} (UTC)`}>
      <form onSubmit={(event) => event.preventDefault()}>
        <a class="button" href={beside(-1)}>
          Day before
        </a>
        <label>
          Day
          <input
            type="date"
            value={day}
            onChange={({ currentTarget }) =>
              currentTarget.value && go(linkTo('day', '', { date: currentTarget.value }))
            }
          />
        </label>
        <a class="button" href={beside(1)}>
          Day after
        </a>
      </form>
      <Shown of={asked}>{(records) => <Findings session={session} records={records} />}</Shown>
    </Page>
  )
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function readDay({ client }: Session, day: string, signal: AbortSignal): Promise<LedgerRecord[]> {
  const filters = {
    recordedAfter: `${day}T00:00:00Z`,
    recordedBefore: `${dayOf(Date.parse(day) + DAY_MS)}T00:00:00Z`,
  }
  return client.records.list({ ...filters, limit: SCAN_ROWS }, { signal }).toArray(DAY_RECORDS_MAX)
}

function Findings({ session, records }: { session: Session; records: readonly LedgerRecord[] }) {
  const ended = new Set(records.filter(isOutcome).map(({ parent }) => parent))
  const open = records.filter((record) => isAction(record) && !ended.has(record.id))
  const approvals = records.filter(({ type }) => type === 'approval/1')
  const ofWord = (...words: string[]) => records.filter((record) => words.includes(wordOf(record) ?? ''))
  const judged = records.filter(({ gated }) => gated?.verdict || gated?.overturn)
  return (
    <>
      <p role="status">
        {count(records.length, 'record')}
        {records.length === DAY_RECORDS_MAX && ': the newest ones of the day, which has more'}.
      </p>
      <Section title="Agents">
        <ByAgent session={session} records={records} open={open} />
      </Section>
      <Section title={`Denied: ${ofWord('denied', 'deny').length}`}>
        <Records
          caption="Denied"
          records={ofWord('denied', 'deny')}
          session={session}
          empty="Nothing was denied."
        />
      </Section>
      <Section title={`Failed: ${ofWord('error').length}`}>
        <Records caption="Failed" records={ofWord('error')} session={session} empty="Nothing has failed." />
      </Section>
      <Section title={`Actions without an outcome: ${open.length}`}>
        <Records
          caption="Actions without an outcome"
          records={open}
          session={session}
          empty="Every action of the day has its outcome in it."
        />
      </Section>
      <Section title={`Approvals and refusals: ${approvals.length}`}>
        <Records
          caption="Approvals and refusals"
          records={approvals}
          session={session}
          more={[{ name: 'Decided by', cell: ({ payload }) => approverOf(payload?.['by']) ?? '–' }]}
          empty="Nobody was asked."
        />
      </Section>
      <Section title={`Verdicts on gated work: ${judged.length}`}>
        <Records
          caption="Verdicts"
          records={judged}
          session={session}
          more={[
            {
              name: 'Judged by',
              cell: ({ gated }) =>
                gated?.verdict ? <Agent id={gated.verdict.by} names={session.names} /> : 'the rules',
            },
            {
              name: 'Signal',
              cell: ({ gated }) => <State state={(gated?.overturn ?? gated?.verdict)!.signal.decision} />,
            },
          ]}
          empty="None on work of this day."
        />
      </Section>
    </>
  )
}

type Figures = {
  readonly agent: string
  counts: Record<'records' | 'ok' | 'error' | 'denied' | 'open' | 'signed', number>
}

function ByAgent({
  session,
  records,
  open,
}: {
  session: Session
  records: readonly LedgerRecord[]
  open: readonly LedgerRecord[]
}) {
  const figures = new Map<string, Figures>()
  for (const record of records) {
    const { actor, entry } = record
    const row = figures.get(actor) ?? {
      agent: actor,
      counts: { records: 0, ok: 0, error: 0, denied: 0, open: 0, signed: 0 },
    }
    figures.set(actor, row)
    const word = wordOf(record)
    row.counts.records++
    if (word === 'ok' || word === 'error' || word === 'denied') row.counts[word]++
    if (entry.signedBy === 'agent') row.counts.signed++
  }
  for (const { actor } of open) figures.get(actor)!.counts.open++
  const number = (name: string, of: keyof Figures['counts']): Column<Figures> => ({
    name,
    cell: ({ counts }) => <span class="number">{counts[of].toLocaleString('en')}</span>,
  })
  const columns: Column<Figures>[] = [
    { name: 'Agent', cell: ({ agent }) => <Agent id={agent} names={session.names} /> },
    number('Records', 'records'),
    number('Ended well', 'ok'),
    number('Failed', 'error'),
    number('Denied', 'denied'),
    number('No outcome', 'open'),
    number('Signed by itself', 'signed'),
  ]
  return (
    <Table
      caption="Agents"
      columns={columns}
      rows={[...figures.values()]}
      keyOf={({ agent }) => agent}
      empty="No agent did anything."
    />
  )
}
