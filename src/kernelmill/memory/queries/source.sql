SELECT files FROM sources WHERE digest = :digest
