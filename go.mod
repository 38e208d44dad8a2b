module github.com/servesim/servesim

go 1.26
