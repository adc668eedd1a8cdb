/*
 * npm run drill -- NAME [ARGUMENTS…]: runs a test that is too large or too slow for `npm test`, or that needs other
 * programs. Without a name it lists the tests.
 */
import { type NamedScripts, runNamed } from './named-scripts.ts'

export const DRILLS: NamedScripts = {
  adapters: {
    summary:
      'installs the frameworks of the adapters, and tests the adapters and docs/start/guide.md with them',
    scripts: [['test/system/adapters/run.ts']],
  },
  alerts: {
    summary: 'tests every alert, and each expression of the dashboard, with promtool',
    scripts: [['test/system/operations/alerts.ts']],
    needs: 'Go',
  },
  archive: {
    summary: 'an archive in a bucket with Object Lock, whose server loses, changes and refuses objects',
    scripts: [['test/system/archive/run.ts']],
    needs: 'Go',
  },
  browser: {
    summary: 'verifies a real ledger in Chromium, with the bundled verifier, and tests the console',
    scripts: [['test/system/browser/run.ts'], ['test/system/browser/console/run.ts']],
    needs: 'Chromium',
  },
  chart: {
    summary: 'renders, validates and tests the Helm chart',
    scripts: [['test/system/helm/run.ts']],
    needs: 'Go, python3',
    words: [['--write', 'stores what an upgrade from this version cannot change']],
  },
  faults: {
    summary:
      'the soaks in their short form, which test:all leaves out: kill -9, power cuts, outages, restarts under load',
    scripts: [['test/run.ts', '--test-concurrency=1', 'test/system/faults', 'test/system/soak']],
  },
  fuzz: {
    summary:
      'changed bytes for every decoder, as in npm test, but any number; or hostile inputs for both verifiers',
    scripts: [['test/system/fuzz/run.ts']],
    needs: 'python3 for --differential',
    words: [
      ['RUNS [SEED]', 'number of changed inputs for each decoder (default 50000), and their seed'],
      [
        '--differential',
        'hostile inputs of every format for both verifiers: verdict, code, report and CPU time must not differ',
      ],
      ['--cases N', 'for --differential: number of cases'],
      ['--minutes M', 'for --differential: maximum minutes'],
      ['--seed S', 'for --differential: repeat the cases of this seed'],
      ['--case N', 'for --differential: only this case of the seed'],
      ['--kind KIND', 'for --differential: only this format. Repeatable'],
      ['--processes N', 'for --differential: default: one for each CPU core'],
    ],
  },
  image: {
    summary: 'lints the Dockerfile, builds it where an engine runs, and walks docs/operate/eks.md',
    scripts: [['test/system/image/run.ts']],
    needs: 'python3; Helm, as the drill chart builds it, for docs/operate/eks.md',
  },
  mutations: {
    summary: 'breaks fifty important lines, one at a time, and prints the test that fails',
    scripts: [['test/system/mutations/run.ts']],
    words: [
      ['--only TEXT', 'only lines whose file or promise has this text'],
      ['--from N', 'starts with mutation N of the list'],
      ['--whole', 'all of npm test at once, instead of the nearest tests first'],
    ],
  },
  oracles: {
    summary:
      'independent programs read tiles, checkpoints, receipts and DSSE, send OTLP, and use MCP through the proxy',
    scripts: [['test/system/oracles/run.ts']],
    needs: 'Go, python3',
  },
  package: {
    summary:
      'installs the packages in empty projects, and uses them on the oldest and the newest Node, Bun and Deno',
    scripts: [['test/system/package/run.ts']],
  },
  python: {
    summary:
      'the package for Python: lint, types, the client against servers, wheels, vectors, and both verifiers over the same files',
    scripts: [['test/system/python/run.ts']],
    needs: 'python3',
    words: [['generate', 'only make the generated files, after a change of _async or of the API']],
    passesTo: 'pytest',
  },
  restore: {
    summary:
      'backup under load, loss, restore to another server, verification (docs/operate/backup-and-archive.md)',
    scripts: [['test/system/restore/drill.ts']],
  },
  schemathesis: {
    summary: 'sends a server requests that /openapi.json allows, and others',
    scripts: [['test/system/schemathesis/run.ts']],
    needs: 'python3',
    passesTo: 'schemathesis run',
  },
  settings: {
    summary:
      'seventy settings of role, database, file and environment, on Postgres 15 to 18: each is refused by name, or every 201 is in an export',
    scripts: [['test/system/settings/run.ts']],
    words: [
      ['--quick', 'only the quick ones, on Postgres 18'],
      ['--postgres 15,18', 'on these versions'],
      ['--only TEXT', 'only settings with this text in their name'],
    ],
  },
  site: {
    summary: 'builds the documentation as a site in site/dist, and checks its links',
    scripts: [['tools/site/build.ts']],
    words: [['--base PATH', 'path at which the site is served. Default: /']],
  },
  soak: {
    summary:
      'long forms of the fault tests, and tests that take too long for npm test or need a quiet machine',
    scripts: [['test/system/soak/soak.ts']],
    needs: "for failover: Debian's postgresql-15, etcd-server and haproxy; Go, python3",
    words: [
      [
        'NAME…',
        'one or more of kill-postgres, kill-api, kill-control, kill-workers, kill-webhook-workers, kill-agents,',
      ],
      [
        '',
        'kill-otlp, federation-faults, federation-lifecycle, rolling-restart, power-cut, outages, two-servers,',
      ],
      [
        '',
        'twenty-ledgers, rotation, isolation, isolation-large, slow-disk, many-ledgers, webhook-isolation,',
      ],
      ['', 'webhook-endpoints, webhook-backlog, chaos, failover'],
      ['--duration SECONDS', 'for chaos. Default: 3600'],
      ['--seed N', 'for chaos and failover: the same faults in the same order'],
      ['--mode sync|async', 'for failover: whether a commit waits for a standby. Default: sync'],
      ['--kills N', 'for failover. Default: 50'],
    ],
  },
  upgrade: {
    summary:
      'migrates the previous version under load, runs both versions, and goes back (docs/operate/operations.md#upgrading)',
    scripts: [['test/system/upgrade/drill.ts']],
  },
}

if (import.meta.main) await runNamed(DRILLS, 'npm run drill', process.argv.slice(2))
