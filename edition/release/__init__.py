"""What a release needs: citation files, the manifest, a browser, the PDF."""
