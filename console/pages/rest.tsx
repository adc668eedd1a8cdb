import { Page } from '../parts/basics.tsx'
import { linkTo, type Route } from '../router.ts'
import type { Session } from '../session.ts'
import { AgentsPage } from './agents.tsx'
import { AuditsPage } from './audits.tsx'
import { CaseFilePage } from './case-file.tsx'
import { CheckpointsPage } from './checkpoints.tsx'
import { DayPage } from './day.tsx'
import { EntryPage } from './entry.tsx'
import { PeersPage } from './peers.tsx'
import { RecordPage } from './record.tsx'
import { RetentionPage } from './retention.tsx'
import { RunPage } from './run.tsx'
import { SearchPage } from './search.tsx'
import { VerifyPage } from './verify.tsx'
import { WorkPage } from './work.tsx'

/** Shows the page that the address names. Covers all pages except the overview. */
export function RestPage({ route, session }: { route: Route; session: Session }) {
  const { page, id, query } = route
  switch (page) {
    case 'day':
      return <DayPage session={session} query={query} />
    case 'search':
      return <SearchPage session={session} query={query} />
    case 'record':
      return <RecordPage key={id} session={session} id={id} query={query} />
    case 'entry':
      return <EntryPage key={id} session={session} seq={id} />
    case 'run':
      return <RunPage key={`${id}?${query}`} session={session} id={id} query={query} />
    case 'agents':
      return <AgentsPage session={session} id={id} />
    case 'checkpoints':
      return <CheckpointsPage session={session} size={id} />
    case 'audits':
      return <AuditsPage session={session} />
    case 'peers':
      return <PeersPage session={session} id={id} />
    case 'work':
      return <WorkPage key={`${query}`} session={session} query={query} />
    case 'retention':
      return <RetentionPage session={session} />
    case 'case':
      return <CaseFilePage session={session} />
    case 'verify':
      return <VerifyPage />
    default:
      return (
        <Page title="This page does not exist">
          <p>
            <a href={linkTo('')}>Overview</a> or <a href={linkTo('search')}>Search</a>
          </p>
        </Page>
      )
  }
}
