/* npm run bench -- NAME [ARGUMENTS…]: benchmarks of speed and cost. Without a name it lists them. */
import { type NamedScript, type NamedScripts, runNamed } from './named-scripts.ts'

const EMBEDDED = ['--embedded', 'the embedded Postgres even if the system has one of its own'] as const
const DATABASE_URL = [
  'DATABASE_URL',
  "an owner's URL: use this Postgres, in databases made for the run and dropped after it",
] as const

/** A scenario of bench/bench.ts. All scenarios have the same options. */
const scenario = (name: string, summary: string): NamedScript => ({
  summary,
  scripts: [['bench/bench.ts', name]],
  words: [
    ['--duration 10', 'seconds measured, each phase'],
    ['--warm-up 2', 'seconds before that, not measured'],
    ['--servers 1', 'API processes; several rounds: --servers 1,2'],
    ['--connections 128,256', 'closed-loop phases of single (256 also for the arrival rate)'],
    [
      '--shares 0.1,0.5,0.95',
      'of the ceiling, of latency; multiples of it, of overload: --shares 1.5,2,4,10',
    ],
    [
      '--producers 2',
      'connections of batch and of the bare load of notarizer; several phases: --producers 1,2,64',
    ],
    ['--clients 64,128', 'clients of lifecycle, one phase each, each with a connection of its own'],
    ['--gate principal', 'who judges: principal, or auto (the rules alone)'],
    ['--batch-size 1000', 'records in a batch'],
    [
      '--rate N',
      'requests/s of the arrival-rate phase; of latency and overload, the ceiling that shares are of',
    ],
    ['--no-arrival', 'without the arrival-rate phase'],
    ['--payload-bytes 400', 'JSON bytes of a payload'],
    ['--idempotency-keys', 'an Idempotency-Key on every request'],
    ['--seed 1', 'the same seed sends the same payloads'],
    ['--no-worker', 'without the worker process'],
    ['--watched', 'a witness cosigns each checkpoint meanwhile, and a monitor reads each new tile'],
    ['--no-reference', 'without the plain one-row inserts that the ratio is taken against'],
    EMBEDDED,
    ['--profile', 'CPU profiles of the API processes, and where their time went'],
    ['--fsync-gate-ms 5', 'refuse to run on a slower disk'],
    ['--force', 'run all the same'],
    ['--out bench/results', 'where the JSON goes'],
    DATABASE_URL,
  ],
})

export const BENCHMARKS: NamedScripts = {
  single: scenario(
    'single',
    'one record a request: closed loops, then a constant arrival rate at 80 % of what they reached',
  ),
  batch: scenario('batch', 'many records a request: closed loop'),
  latency: scenario(
    'latency',
    'one record a request: the ceiling, then shares of it, with the time of a request by its steps',
  ),
  overload: scenario(
    'overload',
    'one record a request: the ceiling, multiples of it, and a half of it straight after each',
  ),
  lifecycle: scenario(
    'lifecycle',
    'gated records from creation to verdict: closed loop, one record under way a client',
  ),
  notarizer: scenario(
    'notarizer',
    "the SDK's notarizer, with and without a spool, beside the load of batch in the same session",
  ),
  calibrate: scenario(
    'calibrate',
    'the load generator against a server that does nothing: what it costs itself',
  ),
  preflight: scenario('preflight', 'the machine, its fsync and commit latency; no load'),
  archive: {
    summary:
      'an archive from the first record to its restore: archived under load, content that leaves Postgres, reads, verification',
    scripts: [['bench/archive.ts']],
    words: [
      ['--records 100000', 'records of the ledger'],
      ['--batch 1000', 'records in a batch; 1: each by itself'],
      ['--rate R', 'records a second; by default as fast as eight clients can'],
      ['--no-restore', 'without the restore into another database'],
      EMBEDDED,
    ],
  },
  cells: {
    summary:
      'one deployment and three behind HAProxy (docs/operate/capacity.md#several-deployments-behind-one-address)',
    scripts: [['bench/micro/cells.ts']],
    needs: "HAProxy, and better the system's Postgres",
    words: [
      ['--seconds 6', 'of each phase'],
      ['--rounds 2', 'the phases in turn'],
    ],
  },
  evidence: {
    summary: 'records that agents sign; tiles, bundles of entries, receipts',
    scripts: [['bench/micro/evidence.ts']],
    words: [['--rounds 3', 'of the records'], ['--requests 3000', 'of each kind'], EMBEDDED],
  },
  floods: {
    summary: 'floods of requests without a key beside ledgers that write: how many of theirs are refused',
    scripts: [['bench/micro/floods.ts']],
    words: [
      ['--connections 800', 'of the flood'],
      ['--seconds 8', 'of each flood'],
      ['--rounds 1', 'the floods in turn'],
      EMBEDDED,
    ],
  },
  k6: {
    summary: 'eleven workloads in k6 (docs/BENCHMARKS.md)',
    scripts: [['bench/k6/run.ts']],
    needs: 'Go, to build k6 once',
    words: [
      [
        'NAME…|all',
        'one or more of notarize-ramp, lifecycle-soak, batch-sustained, dense-producers, pipelined-messages,',
      ],
      ['', 'mixed-users, zipfian, overload, replicas, webhooks-drain, federation-drain'],

      ['--profile short', 'short: seconds, on any machine; full: as the figures are measured'],
      ['--peak N', 'of notarize-ramp: up to N requests/s; max: finds the ceiling, and goes to twice it'],
      ['--servers N', 'API processes, instead of as many as the script is about'],
      ['--seconds N', "seconds of load, where the script's own are too long for this disk"],
      ['--seed 1', 'the same seed sends the same payloads'],
      ['--out bench/results', 'where the reports go'],
      EMBEDDED,
      ['--fsync-gate-ms 5', 'of full: refuse to run on a slower disk'],
      ['--force', 'run all the same'],
      ['--keep', 'keep what k6 wrote, beside the report'],
      DATABASE_URL,
      ['K6', 'the path of a k6, instead of the one that is built and cached'],
    ],
  },
  otlp: {
    summary: 'spans by OTLP against the same records in batches; what a flood of spans costs other ledgers',
    scripts: [['bench/micro/otlp.ts']],
    words: [
      ['--windows 4', 'measured, in turns'],
      ['--seconds 5', 'of each window'],
      ['--floods', 'instead: what many traces, or a large resource, of one ledger cost the others'],
      ['--only NAMES', 'of --floods: only these'],
      EMBEDDED,
    ],
  },
  proofs: {
    summary: 'what an inclusion path and a consistency proof cost, by the size of the ledger',
    scripts: [['bench/micro/proofs.ts']],
    words: [['SIZE…', 'entries of the ledgers, each at least 1000; by default 100000 10000000']],
  },
  replica: {
    summary: 'what a replica brings, and whether anybody reads behind their own write',
    scripts: [['bench/micro/replica.ts']],
    words: [
      ['--checked N', 'reads that are compared with the write before them'],
      ['--seconds 10', 'of each phase'],
    ],
  },
  retention: {
    summary: 'documents that rules erase, from the rule to the last one taken away',
    scripts: [['bench/micro/retention.ts']],
    words: [
      ['--records 20000', 'in batches of 1,000'],
      ['--rows 1000', 'records of one request each'],
      ['--share 1', "of the time that sweeps may take; by default the worker's"],
      EMBEDDED,
    ],
  },
  search: {
    summary: 'does a ledger of many records answer as fast as a small one?',
    scripts: [['bench/micro/search.ts']],
    words: [
      ['--records 10000000', 'of the large ledger'],
      ['--small 100000', 'of the small one'],
      ['--repeats 200', 'of each query'],
      ['--lists', 'instead: what a page of ten costs, and pages a second'],
      ['--connections 16', 'of --lists'],
      ['--seconds 2', 'of --lists: each list'],
      ['--only WORD', 'of --lists: only these'],
      ['--profile', 'of --lists: CPU profile of the server'],
      EMBEDDED,
    ],
  },
  volume: {
    summary:
      'bytes of a record in tables, indexes, log and on the network, by kind (docs/operate/capacity.md)',
    scripts: [['bench/micro/volume.ts']],
    words: [['--records 10000', 'notarized'], ['--gated 1000', 'gated records'], EMBEDDED],
  },
}

if (import.meta.main) await runNamed(BENCHMARKS, 'npm run bench', process.argv.slice(2))
