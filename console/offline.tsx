import { render } from 'preact'
import { Page } from './parts/basics.tsx'
import { VerifyFile } from './parts/verify-file.tsx'
import { showHiddenText } from './shown-text.ts'
import { verifyFile } from './verifier.ts'

/* Entry point of verify.html, which contains only the verifier, in one file that a browser can open from disk. */

showHiddenText()
render(
  <main>
    <Page title="Verify a file">
      <p>This page has no connection to anything. It checks a file of a Tallystick ledger in this browser.</p>
      <VerifyFile verify={verifyFile} />
    </Page>
  </main>,
  document.getElementById('app')!,
)
