import type { Audit } from '../../sdk/generated/api.ts'
import { AUDITS_MAX, OVERVIEW_EVERY_MS } from '../limits.ts'
import { AuditReason, AuditResult } from '../parts/audit.tsx'
import { Agent, type Column, Failure, Page, Shown, Table, Time } from '../parts/basics.tsx'
import { useAct, useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'

/** Shows the server's audits of the whole ledger, newest first, with their findings or errors. */
export function AuditsPage({ session }: { session: Session }) {
  const { client } = session
  const audits = useQuery(
    (signal) => client.audits.list({ limit: AUDITS_MAX }, { signal }).toArray(AUDITS_MAX),
    [],
    OVERVIEW_EVERY_MS,
  )
  const { isBusy, error, act } = useAct()
  const start = () => act(() => client.audits.start().then(audits.reload))
  return (
    <Page title="Audits">
      <p>
        The server's worker verifies the whole ledger once a day, and on request. You have to trust the server
        for its result. <a href={linkTo('verify')}>Verify a file</a> does not need that trust.
      </p>
      <p>
        <button type="button" class="do" disabled={isBusy} onClick={start}>
          Audit now
        </button>
      </p>
      {error !== null && <Failure error={error} />}
      <Shown of={audits}>
        {(found) => (
          <Table
            caption="Audits"
            columns={columns(session)}
            rows={found}
            keyOf={({ id }) => id}
            empty="None yet. The first one runs within a day, or when you request it."
          />
        )}
      </Shown>
    </Page>
  )
}

function columns({ names }: Session): Column<Audit>[] {
  return [
    { name: 'Requested', cell: ({ requestedAt }) => <Time at={requestedAt} /> },
    {
      name: 'By',
      cell: ({ requestedBy }) =>
        requestedBy === null ? 'the schedule' : <Agent id={requestedBy} names={names} />,
    },
    { name: 'Result', cell: (audit) => <AuditResult audit={audit} /> },
    { name: 'Why', cell: (audit) => <AuditReason audit={audit} /> },
    {
      name: 'Entries',
      cell: ({ progress: { entriesDone, entriesTotal }, state }) => (
        <span class="number">
          {entriesDone.toLocaleString('en')}
          {state !== 'done' && entriesTotal !== null && ` of ${entriesTotal.toLocaleString('en')}`}
        </span>
      ),
    },
    { name: 'Ended', cell: ({ finishedAt }) => (finishedAt === null ? '–' : <Time at={finishedAt} />) },
  ]
}
