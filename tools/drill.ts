/*
 * npm run drill -- NAME [ARGUMENTS…]: tests that are too large, too slow or need too much for `npm test`. Without a
 * name it lists them.
 */
import { type NamedScripts, runNamed } from './named-scripts.ts'

export const DRILLS: NamedScripts = {
  adapters: {
    summary:
      'installs the frameworks that the adapters are for, and tries the adapters and docs/start/guide.md with them',
    scripts: [['test/system/adapters/run.ts']],
  },
  alerts: {
    summary: 'tries every alert, and each expression of the dashboard, in promtool',
    scripts: [['test/system/operations/alerts.ts']],
    needs: 'Go',
  },
  archive: {
    summary: 'an archive in a bucket with Object Lock, whose server loses, changes, refuses',
    scripts: [['test/system/archive/run.ts']],
    needs: 'Go',
  },
  browser: {
    summary:
      'has Chromium verify a real ledger with the verifier as applications bundle it, and go through the console',
    scripts: [['test/system/browser/run.ts'], ['test/system/browser/console/run.ts']],
    needs: 'Chromium',
  },
  chart: {
    summary: 'renders, validates and tests the Helm chart',
    scripts: [['test/system/helm/run.ts']],
    needs: 'Go, python3',
    words: [['--write', "keeps what an upgrade from this version can't change"]],
  },
  faults: {
    summary:
      'the soaks in their short form, which test:all leaves out: kill -9, power cuts, outages, restarts under load',
    scripts: [['test/run.ts', '--test-concurrency=1', 'test/system/faults', 'test/system/soak']],
  },
  fuzz: {
    summary:
      'changed bytes for every decoder, as in npm test, but as many as you like; or hostile inputs for both verifiers',
    scripts: [['test/system/fuzz/run.ts']],
    needs: 'python3 for --differential',
    words: [
      ['RUNS [SEED]', 'changed inputs for each decoder, by default 50000, and the seed that makes them'],
      [
        '--differential',
        'hostile inputs of every format for both verifiers: verdict, code, report and CPU time must not differ',
      ],
      ['--cases N', 'of --differential: that many cases'],
      ['--minutes M', 'of --differential: for that long at most'],
      ['--seed S', 'of --differential: makes the same cases again'],
      ['--case N', 'of --differential: only this case of the seed'],
      ['--kind KIND', 'of --differential: only this format. Repeatable'],
      ['--processes N', 'of --differential: by default one for each CPU core'],
    ],
  },
  image: {
    summary: 'lints the Dockerfile, builds it where an engine runs, and walks docs/operate/eks.md',
    scripts: [['test/system/image/run.ts']],
    needs: 'python3; Helm, as the drill chart builds it, for docs/operate/eks.md',
  },
  mutations: {
    summary: 'breaks fifty lines that matter, each alone, and prints the test that notices',
    scripts: [['test/system/mutations/run.ts']],
    words: [
      ['--only TEXT', 'those whose file or promise has the text'],
      ['--whole', 'all of npm test at once, instead of the nearest tests first'],
    ],
  },
  oracles: {
    summary:
      'programs that know nothing of us read tiles, checkpoints, receipts and DSSE, send OTLP, and speak MCP through the proxy',
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
    words: [
      ['generate', 'only makes the files that are made of others, after a change of _async or of the API'],
    ],
    passesTo: 'pytest',
  },
  restore: {
    summary:
      'backup under load, loss, restore to another server, verification (docs/operate/backup-and-archive.md)',
    scripts: [['test/system/restore/drill.ts']],
  },
  schemathesis: {
    summary: 'sends a server what /openapi.json says, and what it does not',
    scripts: [['test/system/schemathesis/run.ts']],
    needs: 'python3',
    passesTo: 'schemathesis run',
  },
  settings: {
    summary:
      'seventy settings of role, database, file and environment, on Postgres 15 to 18: refused by name, or every 201 is in an export',
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
    words: [['--base PATH', 'path that the site is served at, by default /']],
  },
  soak: {
    summary: 'the long forms of faults, and what takes too long, or too quiet a machine, for npm test',
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
      ['--duration SECONDS', 'of chaos: by default 3600'],
      ['--seed N', 'of chaos and failover: the same faults in the same order'],
      ['--mode sync|async', 'of failover: whether a commit waits for a standby; by default sync'],
      ['--kills N', 'of failover: by default 50'],
    ],
  },
  upgrade: {
    summary:
      'the version before this one is migrated under load, joined, and gone back to (docs/operate/operations.md#upgrading)',
    scripts: [['test/system/upgrade/drill.ts']],
  },
}

if (import.meta.main) await runNamed(DRILLS, 'npm run drill', process.argv.slice(2))
