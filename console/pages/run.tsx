import { useAsked } from '../asking.ts'
import { Agent, count, Id, Page, Section, Shown, State, Time } from '../parts/basics.tsx'
import { Summary } from '../parts/records.tsx'
import { linkTo } from '../router.ts'
import { type Branch, type Run, readRun, readTrace } from '../runs.ts'
import type { Session } from '../session.ts'

/** Records of one run, or of one trace, as a tree. */
export function RunPage({ session, id, query }: { session: Session; id: string; query: URLSearchParams }) {
  const trace = query.get('trace')
  const asked = useAsked(
    (signal) =>
      trace === null ? readRun(session.client, id, signal) : readTrace(session.client, trace, signal),
    [id, trace],
  )
  return (
    <Page
      title={
        trace === null ? (
          <>
            Run of <Id id={id} to={linkTo('record', id)} />
          </>
        ) : (
          <>
            Trace <Id id={trace} />
          </>
        )
      }
    >
      <Shown of={asked}>
        {(run) => (
          <Section title="Records">
            <p>
              {count(run.records, 'record')}
              {run.isWhole ? '' : ' are shown, and there are more'}; {openText(run)}
            </p>
            <ul class="tree">
              {run.branches.map((branch) => (
                <Node key={branch.record.id} branch={branch} session={session} />
              ))}
            </ul>
          </Section>
        )}
      </Shown>
    </Page>
  )
}

function Node({ branch: { record, isOpen, below }, session }: { branch: Branch; session: Session }) {
  return (
    <li>
      <div>
        <Id id={record.id} to={linkTo('record', record.id)} short />
        <code>{record.type}</code>
        {record.gated !== null && <State state={record.state} />}
        {isOpen && <State state="no outcome" />}
        <Summary record={record} />
        <span class="quiet">
          <Agent id={record.actor} names={session.names} />, signed by the {record.entry.signedBy},{' '}
          <Time at={record.recordedAt} />
        </span>
      </div>
      {below.length > 0 && (
        <ul>
          {below.map((branch) => (
            <Node key={branch.record.id} branch={branch} session={session} />
          ))}
        </ul>
      )}
    </li>
  )
}

function openText({ branches }: Run): string {
  const countOpen = (list: readonly Branch[]): number =>
    list.reduce((sum, { isOpen, below }) => sum + (isOpen ? 1 : 0) + countOpen(below), 0)
  const open = countOpen(branches)
  return open === 0 ? 'every action has its outcome.' : `${count(open, 'action')} without an outcome.`
}
