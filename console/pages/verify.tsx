import { useEffect, useState } from 'preact/hooks'
import { Failure, Page } from '../parts/basics.tsx'
import { VerifyFile } from '../parts/verify-file.tsx'
import type { verifyFile } from '../verifier.ts'

/** Verifies a file. Needs no key. After the page is open it needs no server either. */
export function VerifyPage() {
  const [verify, setVerify] = useState<{ file: typeof verifyFile } | null>(null)
  const [error, setError] = useState<Error | null>(null)
  useEffect(() => {
    import('../verifier.ts').then(({ verifyFile }) => setVerify({ file: verifyFile }), setError)
  }, [])
  return (
    <Page title="Verify a file">
      <p>
        The file stays in this browser: no server sees it. To check files on a machine without a network, save{' '}
        <a href="verify.html" download>
          this page as one file
        </a>
        .
      </p>
      {error !== null && <Failure error={error} />}
      {verify !== null && <VerifyFile verify={verify.file} />}
    </Page>
  )
}
