import { credentialsFile, type FirstLedger } from './first-ledger.ts'

/** Text for a person when everything runs. The curl line works as it is pasted. */
export function describeRunning(options: {
  url: string
  dataDir: string
  ownDatabase: boolean
  first: FirstLedger
  hasConsole: boolean
}): string {
  const { url, dataDir, first, hasConsole } = options
  const { ledger, key } = first.credentials
  const header = first.isNew ? `'Authorization: Bearer ${key}'` : `@${quote(first.headerFile)}`
  return `
Tallystick is running.

  URL      ${url} (in a browser: ${url}/docs)
  ledger   ${ledger}
${hasConsole ? consoleLine(url, first, credentialsFile(dataDir)) : ''}  key      ${first.isNew ? `${key} (kept in ${credentialsFile(dataDir)})` : `in ${credentialsFile(dataDir)}`}
  data     ${dataDir}${options.ownDatabase ? ', with a Postgres of its own' : '; records in DATABASE_URL'}

Notarize ${first.isNew ? 'a first' : 'a'} record:

  curl -sS ${url}/v1/records -H ${header} -H 'Content-Type: application/json' -d '{"type":"generic/1","payload":{"hello":"world"}}'

Ctrl-C stops it, and the next start goes on with the same data.
`
}

/**
 * Line with the link to the console. The key is in the fragment of the URL, which a browser sends to no server. A later start prints a command
 * that prints the link, instead of the key.
 */
function consoleLine(url: string, { credentials: { consoleKey }, isNew }: FirstLedger, file: string): string {
  const link = `${url}/console/#key=`
  if (isNew) return `  console  ${link}${consoleKey}\n`
  const script = quote(`${JSON.stringify(link)} + JSON.parse(fs.readFileSync(process.argv[1])).consoleKey`)
  return `  console  ${url}/console/ (a link with its key: node -p ${script} ${quote(file)})\n`
}

/** For a shell, where it needs it. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
